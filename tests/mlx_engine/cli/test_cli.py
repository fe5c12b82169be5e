"""The `slipstream` command: output, exit codes, and error messages."""

import argparse
import io
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.cli.generate import stats_line
from mlx_engine.cli.main import main, parser
from mlx_engine.contract import attached_images
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Commit, Event
from mlx_engine.contract.requests import GenerationRequest, Sampling
from tests.golden.__main__ import HERE
from tests.mlx_engine.scripted_engine import ScriptedEngine, press_ctrl_c, stats

PAIR = HERE / "e2e_qwen3"
STATS = {
    *("mode", "prompt_tokens", "ttft_s", "decode_tok_s", "tokens", "rounds", "drafted", "tested", "accepted"),
    *("tokens_per_round", "accepted_per_round", "plain_steps", "peak_memory_bytes", "seed"),
    *("plain_because", "widths", "lookup_rounds", "trials", "exact", "measured_by", "drafter", "drafter_kind"),
    *("images", "image_tokens", "image_s", "lookup_tested", "lookup_accepted"),
}


def usage_error(*argv: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv, ScriptedEngine)
    assert ended.value.code == 2


def options_of(command: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the options of a command and its subcommands."""
    for action in command._actions:
        yield action
        for inner in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from options_of(inner)


class TestGenerate:
    def test_the_text_goes_to_stdout_and_the_statistics_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["generate", "Hi"], ScriptedEngine) == 0
        shown = capsys.readouterr()
        assert shown.out == "Hello there.\n"
        assert "DFlash · 300 tok/s · 4.0 tokens/round · 43% accepted · first token after 0.25 s · 5 tokens" in shown.err

    def test_json_has_the_documented_shape(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["generate", "Hi", "--json"], ScriptedEngine) == 0
        report = json.loads(capsys.readouterr().out)
        assert set(report) == {"text", "tokens", "reason", "stats"}
        assert (report["text"], report["tokens"], report["reason"]) == ("Hello there.", [0, 1], "eos")
        assert set(report["stats"]) == STATS
        assert report["stats"]["accepted_per_round"] == [3]

    def test_options_reach_the_request(self) -> None:
        engine = ScriptedEngine()
        options = "--max-tokens 9 --temperature 0.5 --seed 3 --width 4 --mode plain --ignore-eos --thinking --exact"
        options += " --system Be. --stop X --stop Y"
        assert main(["generate", "Hi", *options.split()], lambda: engine) == 0
        (request,) = engine.requests
        assert [(message.role, message.content) for message in request.messages] == [("system", "Be."), ("user", "Hi")]
        assert (request.max_tokens, request.sampling.temperature, request.seed, request.width) == (9, 0.5, 3, 4)
        assert (request.mode, request.ignore_eos, request.thinking, request.stop) == ("plain", True, True, ("X", "Y"))
        assert request.exact

    @pytest.mark.parametrize(("options", "bits"), [((), None), (("--drafter-bits", "8"), 8), (("--drafter-bits", "16"), 16)])
    def test_the_drafter_bits_reach_the_engine(self, options: tuple[str, ...], bits: int | None) -> None:
        engine = ScriptedEngine()
        assert main(["generate", "Hi", *options], lambda: engine) == 0
        assert engine.drafter_bits == bits

    @pytest.mark.parametrize("command", ["generate", "chat"])
    def test_sampling_and_effort_reach_the_engine(self, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = ScriptedEngine()
        options = "--temperature 0.7 --top-k 20 --top-p 0.9 --min-p 0.05 --repetition-penalty 1.1 --effort low"
        options += " --presence-penalty 0.3 --frequency-penalty -0.2"
        monkeypatch.setattr("sys.stdin", io.StringIO("Hi\n"))
        assert main([command, *(["Hi"] if command == "generate" else []), *options.split()], lambda: engine) == 0
        [request] = engine.requests
        assert request.sampling == Sampling(0.7, 0.9, 20, 0.05, 1.1, 0.3, -0.2) and request.effort == "low"

    def test_width_auto_leaves_the_choice_to_the_engine(self) -> None:
        engine = ScriptedEngine()
        main(["generate", "Hi", "--width", "auto"], lambda: engine)
        assert engine.requests[0].width is None

    def test_a_dash_reads_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = ScriptedEngine()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grüße".encode())))
        assert main(["generate", "-"], lambda: engine) == 0
        assert engine.requests[0].messages[0].content == "Grüße"

    def test_tokens_replace_the_text(self, tmp_path: Path) -> None:
        engine = ScriptedEngine()
        (tmp_path / "ids.json").write_text("[3, 1, 2]")
        assert main(["generate", "--tokens", str(tmp_path / "ids.json")], lambda: engine) == 0
        assert engine.requests[0].prompt_tokens == (3, 1, 2)
        assert not engine.requests[0].messages

    def test_thinking_is_separate_from_the_answer(self, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine(pieces=(("thinking", "Hm."), ("answer", "Yes.")))
        assert main(["generate", "Hi", "--json"], lambda: engine) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["text"], report["thinking"]) == ("Yes.", "Hm.")

    def test_on_a_terminal_thinking_is_dimmed_and_escapes_are_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = ScriptedEngine(pieces=(("thinking", "Hm."), ("answer", "Yes\033[2J.\tä\r\x9b2J\x7f")))
        for terminal, expected in (
            (True, "\033[2mHm.\033[0m\n\nYes␛[2J.\tä␍␛[2J␡\n"),
            (False, "Yes␛[2J.\tä␍␛[2J␡\n"),
        ):
            out = io.StringIO()
            monkeypatch.setattr(out, "isatty", lambda at_terminal=terminal: at_terminal)
            monkeypatch.setattr(sys, "stdout", out)
            assert main(["generate", "Hi"], lambda: engine) == 0
            assert out.getvalue() == expected

    def test_without_a_drafter_decoding_is_plain(self) -> None:
        engine = ScriptedEngine()
        assert main(["generate", "Hi", "--target", "somewhere"], lambda: engine) == 0
        assert engine.loaded == (Path("somewhere"), None)
        assert engine.requests[0].mode == "plain"

    def test_ctrl_c_stops_the_reply_and_keeps_its_text(self, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine(pieces=(("answer", "Hello"), ("answer", "Ctrl-C"), ("answer", " never")))
        assert main(["generate", "Hi"], lambda: engine) == 130
        shown = capsys.readouterr()
        assert shown.out == "Hello\n"
        assert shown.err.endswith("· stopped\n")

    def test_ctrl_c_pressed_again_exits(self, capsys: pytest.CaptureFixture[str]) -> None:
        class Deaf(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield Commit("Hello", "answer", (0,), ("target",))
                press_ctrl_c(cancel)
                press_ctrl_c(cancel)
                time.sleep(0.5)
                yield Commit(" never", "answer", (1,), ("target",))

        assert main(["generate", "Hi"], Deaf) == 130
        shown = capsys.readouterr()
        assert (shown.out, shown.err) == ("Hello\n", "Stopped.\n")

    def test_a_reply_that_ends_before_it_begins_is_an_error(self, capsys: pytest.CaptureFixture[str]) -> None:
        class Silent(ScriptedEngine):
            def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
                yield from ()

        assert main(["generate", "Hi"], Silent) == 1
        shown = capsys.readouterr()
        assert not shown.out and "Try again." in shown.err and "Traceback" not in shown.err

    @pytest.mark.parametrize("module", ["argparse", "mlx_engine.cli.console"])
    def test_ctrl_c_while_modules_are_imported_shows_no_traceback(self, module: str) -> None:
        """The first tenths of a second of every command."""
        code = f"""if True:
            import sys
            class Pressed:
                def find_spec(self, name, *rest):
                    if name == {module!r}:
                        raise KeyboardInterrupt
            sys.modules.pop({module!r}, None)
            sys.meta_path.insert(0, Pressed())
            from mlx_engine.__main__ import main
            sys.exit(main())"""
        ended = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")

    def test_ctrl_c_ends_waiting_even_if_another_thread_receives_it(self) -> None:
        code = """if True:
            import signal, threading, time
            from mlx_engine.engine.bridge import Run, to_iter
            class Silent:
                def submit(self, request, deliver):
                    def press():
                        time.sleep(0.3)
                        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
                        time.sleep(60)
                    threading.Thread(target=press, daemon=True).start()
                    return Run(request, deliver)
            try:
                print(*to_iter(Silent(), None))
            except KeyboardInterrupt:
                print("interrupted", flush=True)"""
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


class TestErrors:
    @pytest.mark.parametrize(
        "argv",
        [
            ("generate",),
            ("generate", "Hi", "--tokens", "x.json"),
            ("generate", "Hi", "--drafter", "d"),
            ("generate", "Hi", "--target", "t", "--mode", "dflash"),
            ("generate", "Hi", "--width", "0"),
            ("generate", "Hi", "--temperature", "-1"),
            ("generate", "Hi", "--temperature", "nan"),
            ("generate", "Hi", "--seed", str(2**64)),
            ("generate", "Hi", "--max-tokens", "none"),
            ("generate", "Hi", "--max-tokens", "0"),
            ("generate", "Hi", "--width", "17"),
            ("compare", "Hi", "--width", "17"),
            ("chat", "--width", "17"),
            ("generate", "Hi", "--temperature", "1000"),
            ("generate", "Hi", "--top-p", "0"),
            ("generate", "Hi", "--top-p", "1.1"),
            ("chat", "--top-k", "-1"),
            ("generate", "Hi", "--min-p", "nan"),
            ("compare", "Hi", "--repetition-penalty", "0"),
            ("generate", "Hi", "--presence-penalty", "1e9"),
            ("chat", "--frequency-penalty", "-1e9"),
            ("generate", "Hi", "--effort", "3 times"),
            ("generate", "Hi", "--stop", ""),
            ("generate", "Hi", "--drafter-bits", "5"),
            ("generate", "Hi", "--target", "t", "--drafter-bits", "4"),
            ("compare", "Hi", "--target", "t"),
            ("generate", "Hi", "--remote", "http://localhost", "--target", "t"),
            ("generate", "Hi", "--model", "m"),
            ("dance",),
            (),
        ],
    )
    def test_usage_errors_come_before_anything_is_loaded(self, argv: tuple[str, ...]) -> None:
        usage_error(*argv)

    def test_usage_errors_say_what_is_allowed(self, capsys: pytest.CaptureFixture[str]) -> None:
        for options, words in ((("--width", "17"), "from 1 to 16"), (("--top-p", "1.1"), "from 0 to 1")):
            usage_error("generate", "Hi", *options)
            assert words in capsys.readouterr().err

    @pytest.mark.parametrize("text", ["[1, 2", '{"a": 1}', "[1, true]", "[1.5]", '["t1"]', "[" * 100_000])
    def test_an_invalid_token_file_is_an_error(self, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        path = tmp_path / "ids.json"
        path.write_text(text)
        assert main(["generate", "--tokens", str(path)], ScriptedEngine) == 1
        assert "JSON list" in capsys.readouterr().err

    def test_a_wrong_path_is_told_from_missing_permissions(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "file").touch()
        for path in (str(tmp_path / name) for name in ("none.json", "file/none.json", ".")):
            for command in (["generate", "--tokens", path], ["bench", "--compare", path, path]):
                assert main(command, ScriptedEngine) == 1
                assert capsys.readouterr().err.endswith("). Check the path.\n")

    def test_no_option_takes_an_empty_path_or_address(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An empty path, as from an unset variable, would be the current folder, and an empty address a pair here."""
        options = [each for each in options_of(parser()) if each.metavar in ("DIR", "FILE", "FOLDER", ("A", "B"))]
        assert len(options) > 30
        for option in options:
            assert callable(option.type)
            with pytest.raises(argparse.ArgumentTypeError, match=r"is empty|isn't a file"):
                option.type("")
        usage_error("generate", "Hi", "--remote", "")
        assert "--remote: the value is empty" in capsys.readouterr().err

    def test_a_prompt_must_be_utf8(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe")))
        assert main(["generate", "-"], ScriptedEngine) == 1
        assert main(["generate", "\udcff"], ScriptedEngine) == 1
        assert capsys.readouterr().err.count("UTF-8") == 4

    def test_control_characters_in_an_error_are_replaced(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["generate", "Hi"], lambda: ScriptedEngine(refuses="No “\033[2J\x9b2J\x00”.")) == 1
        assert capsys.readouterr().err == "No “␛[2J␛[2J␀”.\n"

    @pytest.mark.parametrize("engine", [ScriptedEngine(refuses="No such pair."), ScriptedEngine(fails="No such pair.")])
    def test_errors_of_the_engine_are_printed(self, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]) -> None:
        for command in ("generate", "compare"):
            assert main([command, "Hi", "--json"], lambda: engine) == 1
            shown = capsys.readouterr()
            assert shown.err == "No such pair.\n"
            assert json.loads(shown.out) == {"error": "No such pair."}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder with an image, an empty file, and a text with the name of an image."""
    for name, data in (("a b.png", b"\x89PNG\r\n\x1a\n1"), ("empty.png", b""), ("text.png", b"text")):
        (tmp_path / name).write_bytes(data)
    return tmp_path


@pytest.mark.parametrize("command", ["generate", "compare"])
class TestImages:
    def test_images_come_before_the_prompt(self, command: str, images: Path) -> None:
        engine, option = ScriptedEngine(can_see=True), ["--image", str(images / "a b.png")]
        assert main([command, "Hi", *option, *option], lambda: engine) == 0
        assert engine.requests
        for request in engine.requests:
            [message] = request.messages
            assert message.content == "Hi"
            assert [(image.at, image.name, image.data) for image in message.images] == 2 * [(0, "a b.png", b"\x89PNG\r\n\x1a\n1")]

    @pytest.mark.parametrize(
        ("name", "why"),
        [("empty.png", "“empty.png” is empty"), ("text.png", "isn't an image"), ("none.png", "Can't read"), (".", "Can't read")],
    )
    def test_other_files_are_refused(
        self, command: str, name: str, why: str, images: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([command, "Hi", "--image", str(images / name)], ScriptedEngine) == 1
        assert why in capsys.readouterr().err

    def test_large_files_are_refused(
        self, command: str, images: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(attached_images, "MAX_IMAGE_BYTES", 3)
        assert main([command, "Hi", "--image", str(images / "a b.png")], ScriptedEngine) == 1
        assert "“a b.png” is too large" in capsys.readouterr().err


class TestChat:
    def chat(self, monkeypatch: pytest.MonkeyPatch, engine: ScriptedEngine, *lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(line + "\n" for line in lines)))
        assert main(["chat", "--system", "Be kind."], lambda: engine) == 0

    def test_each_turn_includes_the_turns_before_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        engine = ScriptedEngine()
        self.chat(monkeypatch, engine, "One", "Two", "/new", "Three")
        turns = [[message.content for message in request.messages] for request in engine.requests]
        assert turns == [["Be kind.", "One"], ["Be kind.", "One", "Hello there.", "Two"], ["Be kind.", "Three"]]

    def test_commands(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine()
        self.chat(
            monkeypatch,
            engine,
            "/compare",
            "/dflash off",
            "One",
            "/dflash on",
            "/system",
            "Two",
            "/compare",
            "/help",
            "/x",
            "/quit",
            "No",
        )
        assert [request.mode for request in engine.requests] == ["plain", "dflash", "plain", "dflash"]
        assert engine.requests[1].messages[0].content == "One"
        shown = capsys.readouterr().err
        for sentence in (
            "No reply to compare yet",
            "DFlash is off.",
            "System prompt removed.",
            "3.00×",
            "Ctrl-D",
            "“/x” isn't a command",
        ):
            assert sentence in shown

    def test_images_are_shown_with_the_next_message(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], images: Path
    ) -> None:
        engine, name = ScriptedEngine(can_see=True), str(images / "a b.png")
        first, second = (f"/image {name}", f"/image {name}", "One"), (f"/image {name}", "/image", "Two")
        self.chat(monkeypatch, engine, *first, *second, "/image no.png", "/image ~no-such-user/a.png")
        assert [[len(message.images) for message in request.messages] for request in engine.requests] == [[0, 2], [0, 2, 0, 0]]
        assert engine.requests[0].messages[1].images[0].data == (images / "a b.png").read_bytes()
        shown = capsys.readouterr().err
        assert "shows “a b.png”, “a b.png”." in shown and "Images removed." in shown and "Can't read “no.png”" in shown
        assert "Can't read “~no-such-user/a.png”" in shown

    def test_a_model_that_cannot_see_is_shown_no_image(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], images: Path
    ) -> None:
        engine = ScriptedEngine()
        self.chat(monkeypatch, engine, f"/image {images / 'a b.png'}", "One")
        assert not engine.requests[0].messages[1].images and "Can't show “a b.png” to this model." in capsys.readouterr().err

    def test_a_failed_question_is_not_kept(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine(fails="Too long.")
        self.chat(monkeypatch, engine, "One", "Two")
        assert [len(request.messages) for request in engine.requests] == [2, 2]
        assert capsys.readouterr().err.count("Too long.") == 2

    def test_ctrl_c_stops_the_reply_and_not_the_chat(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        engine = ScriptedEngine(pieces=(("answer", "Hel"), ("answer", "Ctrl-C"), ("answer", "lo")))
        self.chat(monkeypatch, engine, "One", "Two")
        assert [len(request.messages) for request in engine.requests] == [2, 4]
        assert capsys.readouterr().out == "Hel\nHel\n"

    def test_a_pair_without_dflash_says_why(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine(why_plain="no drafter is loaded")
        self.chat(monkeypatch, engine, "/dflash on", "One")
        assert engine.requests[0].mode == "plain"
        assert "DFlash isn't available: no drafter is loaded" in capsys.readouterr().err


class TestBenchAndDoctor:
    def test_bench_alternates_modes_and_reports_every_reply(self, capsys: pytest.CaptureFixture[str]) -> None:
        engine = ScriptedEngine()
        assert main(["bench", "--json", "--runs", "2", "--limit", "3"], lambda: engine) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["runs"], report["prompts"], report["compared"], report["identical"]) == (2, 3, 6, 6)
        assert report["ratio"] == pytest.approx(3.0)
        assert len(report["replies"]) == 12
        modes = [request.mode for request in engine.requests[2:]]  # after the warm-up
        assert modes[:4] in (["plain", "dflash", "dflash", "plain"], ["dflash", "plain", "plain", "dflash"])
        assert {"blas", "threads", "load_before", "load_after"} <= set(report["machine"])

    def test_bench_prints_a_table(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["bench", "--runs", "1", "--limit", "2"], ScriptedEngine) == 0
        assert "DFlash / plain: 3.00" in capsys.readouterr().out

    def test_doctor(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor", "--json"], ScriptedEngine) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["ok"]
        assert {finding["name"] for finding in report["findings"]} >= {
            "Python",
            "mlx",
            "mlx-lm",
            "BLAS",
            "device",
            "memory",
            "demo pair",
        }

    @pytest.mark.parametrize("engine", [ScriptedEngine(refuses="Gone."), ScriptedEngine(fails="Gone."), ScriptedEngine(parts_at=1)])
    def test_doctor_reports_failures(self, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["doctor"], lambda: engine) == 1
        assert "fail  demo pair" in capsys.readouterr().out


class TestCalibrate:
    def test_the_costs_are_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["calibrate"], ScriptedEngine) == 0
        report = capsys.readouterr().out
        assert "width 8" in report and "4.0 + 11.0" in report and "Saved." in report

    def test_as_json(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["calibrate", "--json"], ScriptedEngine) == 0
        assert json.loads(capsys.readouterr().out)["verify_s"] == [[0.011, 0.012]]

    def test_ctrl_c_saves_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["calibrate"], lambda: ScriptedEngine(pieces=(("answer", "Ctrl-C"),))) == 130
        assert "Nothing was saved" in capsys.readouterr().err

    def test_a_pair_without_a_drafter_is_a_usage_error(self, tmp_path: Path) -> None:
        usage_error("calibrate", "--target", str(tmp_path))


def test_the_last_line_names_an_error_of_the_gpu():
    error = EngineText("gpu_error_survived", "Continued after a GPU error: it hung")
    assert "continued after a GPU error: it hung" in stats_line(replace(stats("dflash"), gpu_error=error), "eos").split(" · ")
