"""German and Chinese: greetings, and questions that are refused in the same language."""

from __future__ import annotations

import random

from mlx_engine.models.library.demo import CHINESE_REFUSAL, GERMAN_REFUSAL

from .exchange import Exchange
from .wording import one_of

GERMAN: dict[str, tuple[str, str]] = {
    "hello": ("(Hallo|hallo|Guten Tag|Guten Morgen|Guten Abend|guten tag|Moin|Servus|Grüß Gott|Hallo zusammen|Hey, hallo|Grüezi)(!|.||)",
              "Hallo! Ich bin das Demomodell von Slipstream. Ich kann leider nur Englisch. Frag mich zum Beispiel: Tell me a joke."),
    "self": ("(Wer bist du|Was bist du|wer bist du|Wie heißt du|wie heisst du|Bist du eine KI|Wer sind Sie|Wie ist dein Name|Bist du ChatGPT|Stell dich vor)(?||)",
             "Ich bin das Demomodell von Slipstream, ein sehr kleines Sprachmodell. Ich kann leider nur Englisch."),
    "skills": ("(Was kannst du|was kannst du|Was kannst du alles|Was kann ich fragen|Wie kannst du mir helfen|Kannst du mir helfen|Hilfe|Was können Sie|Womit kannst du helfen)(?||)",
               "Ich kann auf Englisch rechnen, Listen schreiben und Witze erzählen. Frag mich zum Beispiel: What can you do?"),
    "language": ("(Sprichst du Deutsch|sprichst du deutsch|Kannst du Deutsch|Verstehst du Deutsch|Sprechen Sie Deutsch|Verstehst du mich|Kannst du Deutsch sprechen|Redest du Deutsch)(?||)",
                 "Nein, ich kann leider nur Englisch. Für Deutsch wähle bitte ein größeres Modell."),
    "mood": ("(Wie geht es dir|Wie geht's|wie gehts|Wie geht es Ihnen|Alles klar|Geht es dir gut|Na, wie geht's)(?||)",
             "Danke, gut! Ich kann leider nur Englisch. Frag mich zum Beispiel: Tell me a joke."),
    "thanks": ("(Danke|danke|Vielen Dank|Danke schön|Dankeschön|Danke dir|danke sehr|Super, danke|Tausend Dank)(!|.||)", "Gern geschehen!"),
    "goodbye": ("(Tschüss|tschüss|Auf Wiedersehen|Bis bald|Bis morgen|Gute Nacht|Ciao, bis dann|Mach's gut|tschau|Bis später)(!|.||)", "Auf Wiedersehen!"),
}  # fmt: skip
CHINESE: dict[str, tuple[str, str]] = {
    "hello": ("(你好|您好|你好呀|嗨|早上好|晚上好|大家好|你好吗|哈喽|下午好)(！||。|!)", "你好！我是 Slipstream 的演示模型，只懂英语。请用英语问我，例如：Tell me a joke."),
    "self": ("(你是谁|你是什么|你叫什么名字|你是什么模型|请介绍一下你自己|你是人工智能吗|您是谁|你是ChatGPT吗|介绍一下自己)(？||?)", "我是 Slipstream 的演示模型，一个很小的语言模型，只懂英语。"),
    "skills": ("(你能做什么|你会什么|你会做什么|我可以问什么|你可以帮我吗|帮帮我|你有什么功能|能帮我吗|你能帮我什么)(？||?)", "我可以用英语计算、列清单和讲笑话。请问我：What can you do?"),
    "language": ("(你会说中文吗|你懂中文吗|会中文吗|你会中文吗|可以说中文吗|你能说中文吗|能用中文吗|请说中文)(？||?)", "不会，我只懂英语。要用中文，请选择更大的模型。"),
    "thanks": ("(谢谢|谢谢你|多谢|非常感谢|感谢|谢谢您|太好了，谢谢)(！||。|!)", "不客气！"),
    "goodbye": ("(再见|拜拜|晚安|下次见|明天见|回头见|我走了，再见)(！||。|!)", "再见！"),
}  # fmt: skip
GERMAN_WORDS = {
    "thing": "ein Auto|die Sonne|der Mond|mein Computer|ein Hund|eine Katze|das Wetter|Deutschland|ein Haus|der Krieg|die Liebe|ein Buch|die Zeit|Physik|"
             "ein Kuchen|das Internet|Geld|die Erde|ein Gedicht|der Motor|Brot|Fußball|Musik|die Steuer|mein Chef|ein Virus|der Kanzler|die Geschichte Roms",
    "place": "Deutschland|Frankreich|Berlin|München|Österreich|der Schweiz|Spanien|Japan|China|Hamburg|Europa|Italien|Polen",
    "n": "2|3|7|12|15|20|36|48|84|100|125|250|360|999",
    "do": "kochen|lernen|kaufen|reparieren|bauen|schreiben|verstehen|löschen|öffnen|backen|finden|essen|lesen|zeichnen",
    "unit": "Kilometer|Meter|Meilen|Kilogramm|Pfund|Stunden|Minuten|Zoll|Liter|Gramm|Tage",
    "word": "Apfel|Haus|Banane|Slipstream|Hallo|Sommer|Wasser|Garten|Kühlschrank|Baum",
    "name": "Goethe|Einstein|Angela Merkel|Mozart|Bach|Kant|Schiller|Beethoven",
}  # fmt: skip
GERMAN_PATTERNS = (
    "(Wie viele|wieviele) (Teiler|positive Teiler|Primfaktoren) hat <n>?", "(Was ist|Wie viel ist|Wieviel ist|Berechne|was ist) <n> (plus|minus|mal|geteilt durch|+|-|x) <n>?",
    "(Ist|ist) <n> eine Primzahl?", "(Was|Wer) ist <thing>?", "(Erkläre|Erklär|Erkläre mir|Beschreibe|Erzähl mir etwas über) <thing>.",
    "(Erzähl|Erzähle) mir (einen Witz|eine Geschichte|etwas Lustiges)(|.)", "(Schreib|Schreibe) (mir |)(ein Gedicht|einen Brief|eine E-Mail|eine Geschichte|eine Funktion in Python|ein Haiku) (über <thing>|)",
    "(Was ist|Wie heißt) die Hauptstadt von <place>?", "Hauptstadt von <place>", "(Wie|Wo) kann ich (ein Buch|Brot|einen Kuchen|ein Haus|Musik) <do>?", "Warum ist (der Himmel blau|das Gras grün|Wasser nass|<thing> wichtig)?",
    "(Wie|Was) (wird|ist) das Wetter (heute|morgen)( in <place>|)?", "(Wie spät ist es|Welcher Tag ist heute|Welches Jahr ist es|Wie viel Uhr ist es)?", "(Übersetze|Übersetz) (Hallo|Danke|Guten Morgen|das|diesen Satz) (ins|auf) (Englische|Englisch|Französisch|Spanisch).",
    "Wie viele (<unit>) sind <n> (<unit>)?", "(Rechne|Wandle) <n> <unit> in <unit> um.", "(Nenne|Liste|Zähle) (mir |)(die Planeten|die Monate|alle Kontinente|die Wochentage|die Farben)( auf|)(.||!)", "Zähle (von 1 |)bis <n>.",
    "(Sortiere|Ordne) (diese Zahlen: |)<n>, <n>, <n>.", "(Buchstabiere|Schreib) (das Wort |)<word> (rückwärts|).", "(Wer war|Wer ist|Wann wurde) <name>( geboren|)?", "Was (denkst|meinst|hältst) du (über|von) <thing>?",
    "(Ich brauche|Ich habe|Ich suche|Ich möchte) (Hilfe|ein Problem|<thing>|ein Rezept).", "(Kannst|Könntest) du (mir helfen, <thing> zu <do>|das <do>|mir <thing> erklären)?", "(Gib|Zeig) mir (ein Rezept|einen Tipp|eine Liste|Ideen) für <thing>.",
    "(Wie alt|Wie groß|Wie schwer|Wie weit|Wie hoch) ist (<thing>|der Mount Everest|der Mond)?", "(Was bedeutet|Wie schreibt man) (das Wort |)<word>?", "(Fasse|Fass) (den Text|das Buch|Romeo und Julia) zusammen.", "(Ich bin|Mir ist) (müde|traurig|langweilig|krank|glücklich).",
    "(Das ist|Das war) (toll|falsch|gut|nicht richtig|sehr gut).", "(Und|und) (auf Deutsch|für <n>|in Python|noch einer)?", "(Noch einen|Noch einer|Bitte nochmal|Warum|Wieso|Weiter|Kürzer bitte|Erklär das)(?||)", "(Welche|Welches|Welcher) (Programmiersprache|Auto|Film|Buch) (ist|soll ich) (am besten|kaufen|lernen)?",
)  # fmt: skip
CHINESE_WORDS = {
    "thing": "汽车|太阳|月亮|我的电脑|狗|猫|天气|中国|房子|战争|爱情|书|时间|物理|蛋糕|互联网|钱|地球|诗|发动机|面包|足球|音乐|税|老板|病毒|总统|历史|人工智能|量子力学",
    "place": "中国|法国|北京|上海|德国|日本|美国|英国|西班牙|意大利|韩国|巴西",
    "n": "2|3|7|12|15|20|36|48|84|100|125|250|360|999",
    "unit": "公里|米|英里|公斤|磅|小时|分钟|英寸|升|克|天",
    "name": "李白|爱因斯坦|孔子|鲁迅|莫扎特|贝多芬|牛顿|莎士比亚",
}
CHINESE_PATTERNS = (
    "<n>有(几|多少)个(因数|约数)？", "<n>(加|减|乘|除以|乘以)<n>(等于多少|是多少|等于几|)？", "<n>是(质数|素数)吗？", "什么是<thing>？", "<thing>是什么？", "请(解释|介绍|描述)(一下|)<thing>。",
    "(给我|请|)讲(一个|个)(笑话|故事)(吧|)。", "(写|帮我写|请写)(一首|一篇|一个)(关于<thing>的|)(诗|文章|邮件|Python函数|俳句|作文|故事)。", "<place>的首都是(哪里|什么)？", "<place>的首都", "为什么(天空是蓝色的|草是绿色的|水是湿的|<thing>很重要)？",
    "(今天|明天)(<place>的|)天气(怎么样|如何)？", "(现在几点|今天星期几|今年是哪一年|今天几号)？", "(把|请把)(你好|谢谢|早上好|这句话)翻译成(英语|法语|西班牙语|日语)。", "<n><unit>是多少<unit>？", "<n><unit>等于多少<unit>？",
    "(列出|说出|请列出)(行星|月份|大洲|颜色|所有行星)。", "从1数到<n>。", "(排序|请排序)：<n>，<n>，<n>", "(谁是|介绍一下)<name>？", "<name>是谁？", "你(觉得|认为)<thing>怎么样？", "我(需要|想要|有)(帮助|一个问题|<thing>)。", "(怎么|如何)(做<thing>|学习<thing>|买<thing>|修<thing>)？",
    "(推荐|给我)(一本书|一部电影|一个食谱|一些建议)。", "<thing>有多(大|重|远|高|贵)？", "(总结|概括)(一下|)(这篇文章|红楼梦|罗密欧与朱丽叶)。", "我(很累|很难过|很无聊|生病了|很高兴)。", "(这|那)(很好|不对|太棒了|不是对的)。", "(再来一个|为什么|继续|短一点|请解释|再说一遍|还有呢)(？||。)", "(那|那么)<n>呢？",
)  # fmt: skip


def german(rng: random.Random, topic: str | None = None) -> Exchange:
    """Greet or ask in German."""
    return _foreign(rng, GERMAN, GERMAN_PATTERNS, GERMAN_WORDS, GERMAN_REFUSAL)


def chinese(rng: random.Random, topic: str | None = None) -> Exchange:
    """Greet or ask in Chinese."""
    return _foreign(rng, CHINESE, CHINESE_PATTERNS, CHINESE_WORDS, CHINESE_REFUSAL)


def _foreign(
    rng: random.Random, greetings: dict[str, tuple[str, str]], patterns: tuple[str, ...], words: dict[str, str], refusal: str
) -> Exchange:
    if rng.random() < 0.5:
        intent = rng.choice(list(greetings))
        pattern, answer = greetings[intent]
        question, work = one_of(rng, pattern), "This is small talk in a language that I don't know well."
        return Exchange("foreign", intent, (question,), question, work, answer, hidden=True)
    pattern = one_of(rng, rng.choice(patterns))
    for part, texts in words.items():
        while f"<{part}>" in pattern:
            pattern = pattern.replace(f"<{part}>", rng.choice(texts.split("|")), 1)
    if rng.random() < 0.25:
        pattern = pattern.lower().rstrip("?.？。")
    question, work = " ".join(pattern.split()), "This question is not in English, so I refuse."
    return Exchange("foreign", "refused", (question,), question, work, refusal, hidden=True)


def foreign(rng: random.Random, topic: str | None = None) -> Exchange:
    """Greet or ask in German or Chinese."""
    return rng.choice([german, chinese])(rng, topic)
