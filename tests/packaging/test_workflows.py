"""The workflows: what their steps do, in order, and what a failure stops."""

import base64
import json
import re
from pathlib import Path

import pytest
import yaml

from tests.packaging import ROOT, script
from tests.packaging.workflow import JOBS, run_job, set_up, toolchain, would_run
from tests.strict_metal.__main__ import parser

release = script("release/release.py")
TAG = f"refs/tags/v{release.Release('14.0', {}).version}"
CERTIFICATE = b"\x30\x82 a certificate"
SECRETS = {
    "SLIPSTREAM_SIGNING_IDENTITY": "Developer ID Application: Nobody (TEAM123456)",
    "SLIPSTREAM_NOTARY_KEY_ID": "KEYKEYKEY1",
    "SLIPSTREAM_NOTARY_ISSUER": "1234-issuer",
    "SLIPSTREAM_CERTIFICATE_PASSWORD": "password-of-certificate",
    "SLIPSTREAM_CERTIFICATE": base64.b64encode(CERTIFICATE).decode(),
    "SLIPSTREAM_NOTARY_KEY": "-----BEGIN KEY-----\nMIGTAgEA\n-----END KEY-----",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return set_up(tmp_path)


@pytest.mark.parametrize("name", ["mac.yml", "test.yml"])
def test_workflows_parse_and_refer_to_existing_files(name: str) -> None:
    text = (ROOT / ".github/workflows" / name).read_text(encoding="utf-8")
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    for path in re.findall(r"(?:tests/)?(?:packaging|\.ci)/[\w./]+", text):
        assert (ROOT / path.rstrip(".")).exists(), path
    assert "pull_request" not in text or name == "test.yml", "pull requests must not get secrets"


def test_three_jobs_wait_for_nothing_and_a_release_only_for_what_must_hold() -> None:
    assert [name for name, job in JOBS.items() if "needs" not in job] == ["compile", "gpu", "build"]
    assert JOBS["release"]["needs"] == ["compile", "build"]
    assert [name for name, job in JOBS.items() if job.get("continue-on-error")] == ["gpu"]
    called = set(re.findall(r"(?:\$RELEASE|release\.py) (\w+)", json.dumps(JOBS)))
    assert called == release.STEPS.keys() - {"selftest"}
    for name in ("compile", "build"):
        assert {entry["runner"] for entry in JOBS[name]["strategy"]["matrix"]["include"]} == {"macos-15", "macos-26"}


def test_waiting_for_apple_fits_the_jobs_time_and_the_keychain_stays_unlocked() -> None:
    minutes = JOBS["build"]["timeout-minutes"]
    assert 2 * 60 * release.NOTARY_HOURS + 60 <= minutes <= 60 * release.KEYCHAIN_HOURS
    assert minutes <= 360, "GitHub ends a job after six hours"


def test_every_kernel_is_compiled_in_every_version_of_the_language(folder: Path) -> None:
    done = run_job(folder, "compile")
    assert not done.failed and not any("xcodebuild" in call for call in done.calls)
    [call] = [call for call in done.calls if "strict_metal" in call]
    given = parser().parse_args(call.split()[3:])
    assert given.mode == "compile" and given.standard == ["3.1", "3.2"]
    everywhere = " ".join(entry["standards"] for entry in JOBS["compile"]["strategy"]["matrix"]["include"])
    assert set(everywhere.split()) == {"3.1", "3.2", "4.0"}
    assert run_job(folder, "compile", COMPILE_STATUS="1").failed


def test_a_missing_toolchain_is_fetched(folder: Path) -> None:
    toolchain(folder).unlink()
    done = run_job(folder, "compile")
    assert not done.failed
    assert done.calls[:3] == ["xcrun metal -v", "xcodebuild -downloadComponent MetalToolchain", "xcrun metal -v"]


@pytest.mark.parametrize("status", ["0", "1", "134"])
def test_all_of_the_gpus_reports_are_made_whatever_it_does(folder: Path, status: str) -> None:
    done = run_job(folder, "gpu", GPU_STATUS=status)
    assert done.failed is (status != "0")
    assert [call for call in done.calls if call.startswith("venv")] == [
        "venv -m tests.strict_metal run kernels.json",
        "venv -m app --selftest --require-metal",
    ]
    assert parser().parse_args(["run", "kernels.json"]).mode == "run"
    assert json.loads((folder / "checkout/selftest.json").read_text())["ok"]


@pytest.mark.parametrize("status", ["0", "1"])
def test_without_secrets_the_app_is_built_for_one_mac_and_a_tag_drafts_nothing(folder: Path, status: str) -> None:
    done = run_job(folder, "build", ref=TAG, GPU_STATUS=status)
    assert not done.failed, done.log
    steps = [call.split()[2] for call in done.calls if "release.py" in call]
    assert steps == ["build", "sign", "verify", "image"]
    assert "--selftest --cpu" in done.log and "notarytool" not in done.log
    assert done.ran[-2:] == ["Self-test of the bundle with Metal", "Remove the keys"]
    assert not would_run("release", TAG, build=done, compile=run_job(folder, "compile"))


def test_with_secrets_a_tag_is_signed_notarized_and_drafted(folder: Path) -> None:
    done = run_job(folder, "build", SECRETS, TAG)
    assert not done.failed, done.log
    steps = [call.split()[2] for call in done.calls if "release.py" in call]
    assert steps == ["build", "keychain", "sign", "notarize", "staple", "verify", "image"]
    assert (folder / "state/certificate.p12").read_bytes() == CERTIFICATE
    assert (folder / "state/notary.p8").read_text() == SECRETS["SLIPSTREAM_NOTARY_KEY"]
    assert (folder / "state/certificate.p12").stat().st_mode & 0o777 == 0o600
    assert not list((folder / "runner").iterdir()), "the keys stay on the runner"
    assert not [name for name, value in SECRETS.items() if value in done.log]
    compiled = run_job(folder, "compile")
    assert would_run("release", TAG, build=done, compile=compiled)
    assert not would_run("release", "refs/heads/main", build=done, compile=compiled)
    assert not would_run("release", TAG, build=done, compile=run_job(folder, "compile", COMPILE_STATUS="1"))


def test_a_tag_of_another_version_is_not_built(folder: Path) -> None:
    done = run_job(folder, "build", SECRETS, "refs/tags/v99.0")
    assert done.failed and done.ran == ["The tag names the version", "Remove the keys"]


def test_a_failed_build_still_removes_the_keys(folder: Path) -> None:
    (folder / "checkout/dist/macos14").rename(folder / "checkout/dist/elsewhere")  # nothing to sign
    done = run_job(folder, "build", SECRETS, TAG)
    assert done.failed and "Disk image" not in done.ran and done.ran[-1] == "Remove the keys"
    assert not list((folder / "runner").iterdir())


def test_the_draft_has_images_checksums_and_notes(folder: Path) -> None:
    (folder / "checkout/dist/Slipstream-0-macos14.dmg").write_bytes(b"an image")
    done = run_job(folder, "release", ref=TAG)
    assert not done.failed, done.log
    [call] = [call for call in done.calls if call.startswith("gh")]
    assert call.startswith(f"gh release create {TAG.rpartition('/')[2]} dist/Slipstream-0-macos14.dmg dist/SHA256SUMS --draft")
    assert "Slipstream-0-macos14.dmg" in (folder / "checkout/dist/SHA256SUMS").read_text()
    assert (folder / "checkout/notes.md").read_text().strip()
