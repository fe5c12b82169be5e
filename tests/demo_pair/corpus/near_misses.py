"""Questions with the words of a kind that belong to no kind, as patterns: alternatives in round brackets, `<part>` for a word."""

from __future__ import annotations

NEAR_MISSES: dict[str, tuple[str, ...]] = {
    "weekdays and months": (
        "who (won|lost|played|scored in) (the|our|last night's|yesterday's) <contest> (last <time>|on <day>|in <month>|this "
        "<time>|yesterday|<n> days ago)?",
        "what (day|day of the week|date|weekday) (is|was) (my birthday|<holiday>|<month> <small>|tomorrow|yesterday|it|the "
        "meeting|the party)?", "what (day|month|year|week) (is it|was it|are we in)( today| now|)?",
        "when is <holiday>( this year| next year|)?", "is <holiday> (on a|this) <day>?",
        "how many (days|weeks|months|hours) (until|till|to|before|since) <holiday>?",
        "what (happened|is on|should I do|did I do) (on|last|next|this) <day>?",
        "(my|the) (meeting|flight|party|exam) is on <day>. <order> <subject>.", "how was your (day|week|weekend|month|<day>)?",
        "what is the (best|worst|coldest|hottest|wettest) month (to visit <country>|in <country>|for <subject>)?",
        "why (is|does) (<day>|<month>|the week|a week|the month|the year) (called that|have <small> days|named after <name>|so "
        "long)?", "what (will|do) (you|we|I) do (next|this|every|last) (week|month|<day>|weekend)?",
        "(open|closed) on <day>(s|)?", "<day> (night|morning) <contest>", "who (was born|died|is born) in <month>( <year>|)?",
        "what (star|zodiac) sign is <month>( <small>|)?", "(plan|organize) my (week|month|day|<day>).",
        "what did <name> (do|say) (last week|last month|last year|on <day>)?",
        "<month> (weather|birthstone|<year>|holidays|news)", "the (news|weather) (last|this|next) week",
        "which (week|quarter|century) is it?", "(last|next|this) (week|month|<day>)",
        "how do you spell the month after <month> in <far>?", "how many (working days|weekends|<day>s) are (there |)in <month>?",
        "what is the (third|second|last) <day> of <month>?",
    ),
    "planets, seasons, oceans and continents": (
        "(how far is|how hot is|how big is|how old is|who discovered|what color is|is there life on|what is the temperature on) "
        "<planet>?", "how many (moons|rings|people|satellites|days) does <planet> have?",
        "(which|what) planet (is|was) (the |)(coldest|farthest|fastest|heaviest|prettiest|lightest)?",
        "(which|what) planet (has|do|did|does) (rings|the most moons|we live on|have life|rain diamonds|people come from)?",
        "what is <planet> made of?", "can (we|people|I) live on <planet>?",
        "how long (is a day|is a year|does it take to get) (on|to) <planet>?", "is pluto a planet?", "planet of the apes",
        "(planet|planets) (hollywood|fitness|money|aligned today)", "what season is it( in <country>| now|)?",
        "which season (is the best|comes with snow|do you like|is it in <country>)?",
        "when does (winter|spring|summer|autumn|fall) (start|begin|end)?", "season <small> of <show>",
        "what are the seasons of <show>?", "season tickets for <contest>", "how many seasons (has|does) <show>( have|)?",
        "seasoning for (steak|soup|pasta|fries)", "(how deep|how salty|how cold|how large) is the <ocean> ocean?",
        "which ocean (is the saltiest|is next to <country>|has the most fish)?", "ocean's eleven",
        "what lives in the <ocean> ocean?", "on which continent is <country>?",
        "(which|what) continent is (<country>|the coldest|the hottest|the best|the oldest)( in| on|)?",
        "how many countries are (in|on) <continent>?", "continental (breakfast|drift|tires)",
        "what is the largest (country|city|lake|animal) (in|of) <continent>?",
        "(why|how) (is|was) the rainbow (formed|made|round|there|a symbol)?",
        "(rainbow|rainbows) (six|dash|flag|cake|meaning|trout)", "what color is (a|the) (<thing>|sky|grass|banana)?",
        "what colors (make|go with|match|mix to) (red|blue|green|purple|brown|my shoes)?",
        "(mix|blend) (red|blue|yellow) and (red|blue|green|yellow).", "I feel blue today", "my favorite color is <color>",
        "what is your favorite (color|planet|season|month|day|number|joke|country|word|letter|ocean|language)?",
        "which (color|letter|number|day|month) (do you like|is the best|is lucky|means love)?",
        "how (do|does|did) (we|people) (see|hear|smell|taste|feel)( colors|)?",
        "(my|the) sense of (humor|direction|smell is gone|time)", "alphabet (stock|inc|soup|song|company)",
        "who invented the (alphabet|calendar|week|months|rainbow|numbers|primes|zero)?",
        "the (greek|russian|arabic|hebrew|cyrillic|phonetic|nato) alphabet", "how many letters does the <far> alphabet have?",
        "what (is|was) the (first|last) letter of (the bible|my name|<name>)?",
        "write a (letter|letter of recommendation|love letter) to <name>.", "capital letters in <code>",
    ),
    "capitals": (
        "(what is|how much is|explain) (the |)capital (gains tax|punishment|of the company|investment|structure)?",
        "venture capital", "capital (one|city of rome in the past|letters|gains|crime)",
        "how many people live in (<country>|the capital of <country>|<capital>)?",
        "what (is|was) the (old|former|first|second largest|largest|financial) (capital|city) of <country>?",
        "(what|which) (country|state) is <capital> in?", "how far is <capital> from <capital>?",
        "(flights|trains|tickets|directions) (from <capital> |)to <capital>", "hotels in <capital>",
        "what (should|can|to) (I |)(see|do|eat|visit) in (<capital>|<country>)?",
        "what (currency|language|money|flag|food|king|president|time zone) (do they have in|does|is the one of) <country>( use| "
        "have|)?", "who (is|was) the (king|queen|president|prime minister|chancellor|mayor) of (<country>|<capital>)?",
        "where is (<country>|<capital>)?", "is <country> (bigger|older|richer|larger|colder) than <country>?",
        "(tell me about|describe|I live in|I love|I want to visit|take me to) (<country>|<capital>)",
        "history of (<country>|<capital>)", "<capital>", "<country>", "<country> (flag|map|food|population|weather|visa)",
        "list the (cities|states|rivers|presidents|provinces|neighbors) of <country>.",
        "what is the (population|area|flag|anthem|currency|language|president|largest city|religion|national dish) of <country>?",
        "capital of (<word>|the moon|mars|nowhere|asia|europe|africa|<place>|<place>|<planet>)",
        "what is the capital of (<word>|the world|europe|asia|africa|the universe|<place>|<place>)?",
    ),
    "numbers": (
        "(what|which) (number|numbers) (should I (pick|play)|are lucky|is the best|am I thinking of|comes up most)?",
        "pick a (number|card|random number)( between 1 and <n>|)", "roll (a die|two dice)", "guess a number",
        "what is the (largest|biggest|smallest) (number|prime|prime number)( in the world|)?",
        "how many (numbers|primes|squares) are there( in the world| in total|)?",
        "(phone|serial|social security|account|house|model) number",
        "(amazon|optimus|prime video|sub) prime( subscription| membership| cost|)",
        "who is the prime (minister|suspect) (of <country>|)?", "prime (rib recipe|time|minister|number theorem|day deals)",
        "prove that (root two is irrational|there are infinitely many twin primes).",
        "(what is|explain|define) (a |an |the |)(prime number|square root|fraction|divisor|multiple|factor|percentage|decimal|"
        "integer|exponent|even number|sum|product|multiplication table)(| in math| to a child)?",
        "(add|insert|put) (a picture|music|more salt|a comma|<subject>|my friend|a row to the table|another line)( to it| "
        "please|).", "add <thing> to (my cart|the list|the calendar|my order)",
        "(subtract|minus|plus) (the tax|points|<thing>|my age)", "multiply (fractions|matrices|vectors|two polynomials|my money)",
        "divide (the money|the work|the cake|and conquer|fractions|polynomials)", "long division explained",
        "(how|why) (do|does) (I|you|we) (multiply|divide|add|subtract) (fractions|decimals|by zero|negative numbers|vectors)?",
        "the sum of all (fears|my parts|human knowledge|its parts)", "times (new roman|square|are hard|magazine)",
        "how many times (have you|did I|a day should I|has <name>|does a heart) (failed|eat|won|called|beat|<verb>)( it|)?",
        "what (percent|percentage) of (people|the population|water|<thing>s|americans|students) (is|are|have|do) (left handed|"
        "<adjective>|there|in <country>)?", "(interest|discount|tax|tip|battery|sale) (rate|percentage|of <n>%|percent)",
        "increase my (salary|sales|score) by <n>( percent|%)", "I am <n>% (sure|done|tired|italian)",
        "how do I (calculate|find|get) (a |the |)(percentage|tip|discount|average|area|speed|bmi|interest)?",
        "solve <small>x (+|-) <n> = <n>", "<small>x + <small>y = <n>", "x^2 (+|-) <small>x = <n>", "x = <n>",
        "simplify <small>/<n>", "what is <small>/<n> (as a mixed number|in lowest terms|of the way)", "round <n>.<n> to <small> decimals",
        "roman numeral for <n>", "<n> in (binary|hex|roman numerals|words)",
        "convert <n> to (binary|hex|roman numerals|a fraction|words|octal)", "factorial of <n>", "<small> factorial",
        "what is <small>!", "log of <n>", "(sin|cos|tan) of <n>", "(prime factors|factorization|multiples and factors) of <n>",
        "lcm of <n> and <n>", "gcd of <n> and <n>", "the greatest common divisor of <n> and <n>",
        "is <n> (a square|a lucky number|divisible by <small>|a fibonacci number|perfect)?",
        "what is the next number: <small>, <small>, <n>?", "what comes next: <small>, <small>, <small>", "nth root of <n>",
        "area of a (circle|square|triangle) with (radius|side|base) <n>",
        "<name> is <n> (years old|cm tall|kg). How (old|tall|heavy) is (his|her) (brother|sister|dog)?",
        "how old (am I|is <name>) if (I was|born) in <year>?",
        "how many <thing>s (fit in|are in|do I need for) (a box|my house|<n> people)?", "<n>", "<n> <thing>s", "<n>, <n>",
        "number <n>", "<small> <subject>",
    ),
    "comparison": (
        "(which|what) is (bigger|larger|smaller|better|faster|heavier|older|cheaper)(,|:) (a|an|the|my) <thing> or (a|an|the) "
        "<thing>?", "is (a|the) <thing> (bigger|larger|smaller|heavier|better) than (a|the) <thing>?",
        "(compare|which is better,|difference between) <country> (and|or|vs) <country>",
        "compare (the prices|two phones|cats and dogs|iphone and android|apples and oranges|<name> and <name>|<subject> to "
        "<subject>).", "which is (larger|bigger), <planet> or <planet>?",
        "who is (taller|older|richer|better|faster|smarter), <name> or <name>?",
        "is (python|java|javascript|<code>) (better|faster|easier|older) than (python|<code>|javascript)?",
        "what is (more|larger) than (love|infinity|life|the universe)?",
        "the (lesser|greater|bigger|smaller) (evil|picture|good|panda|half)", "is more (expensive|money|sleep) better?",
        "(bigger|larger) (font|screen|house|window|pizza)",
    ),
    "conversion": (
        "(convert|turn|change|export) (this|a|my) (pdf|file|video|mp3|document|image|page|word file|spreadsheet|table|website|"
        "photo) (to|into) (word|pdf|mp4|excel|jpg|text|html|csv|<far>).",
        "convert <n> <money> (to|into|in) <money>", "<n> <money> (to|in|into) <money>",
        "how much is <n> (<money>) in (<money>)?",
        "what (temperature|degree) (is it|should my fridge be|is the oven)( outside| in <capital>|)?",
        "how (hot|cold) is (it|the sun|<n> degrees|lava|<capital>)?",
        "how many (miles|kilometers|km|meters) (is it|to|from) (<capital>|the moon|the sun|<capital> to <capital>)( away|)?",
        "how (tall|heavy|long|wide|high|deep) is (a|an|the) <thing>( in (meters|feet|kg|pounds|inches|cm)|)?",
        "how many (miles|meters|feet|steps) (should I (run|walk)|do people walk) a (day|week)?",
        "how many (hours|minutes|days|weeks) (should I|do you|does it take to|do people|did <name>) (sleep|work|<verb> "
        "<subject>|<verb>)?",
        "how many (calories|kilos|pounds|grams) (should I (eat|lose)|in (a|an) (egg|apple|<thing>)|are in <subject>)?",
        "(lose|gain) <n> (pounds|kg|kilos)",
        "a (mile|foot|pound|yard|minute|second|week|year) (of cake|sale|in the life|high club|ahead|hand)", "the green mile",
        "how (fast|far) (can|does) (a|an|the) <thing> (run|go|fly|travel)( in <n> (hours|minutes)|)?",
        "wait <n> (minutes|seconds|hours)", "set (an alarm|a timer) for <n> (minutes|hours|seconds)",
        "remind me in <n> (minutes|hours|days|weeks)", "<n> (hours|minutes|days|weeks|months|years) ago",
        "in <n> (hours|minutes|days|weeks|years)", "what time is it in <n> (hours|minutes)?", "date in <n> (days|weeks)",
    ),
    "sorting, counting and tables": (
        "sort (my|the|these|this|out) (emails|files|laundry|photos|names|words|problem|list|table|column|spreadsheet|mail|mess|"
        "songs|<thing>s)( by (date|name|size|color)| alphabetically|)", "sort (of|it out|alphabetically|by date)",
        "sort <word>, <word> and <word>( alphabetically|)",
        "put (the|my) (<thing>s|books|names|events|words) in (alphabetical|the right) order",
        "alphabetize <word>, <word>, <word>",
        "(order|arrange) (a pizza|some food|flowers|a taxi|by phone|a meeting|marriage|furniture|the events of <year>)",
        "what is the (order|sort order) of (the books|operations|events|magnitude|succession)?", "out of order",
        "sorting (algorithms|hat|office|explained)", "how does (bubble sort|quicksort|merge sort|sorting) work?",
        "count (my|the|all|how many|these) (calories|sheep|blessings|steps|money|people|stars|words|letters|<thing>s)( in this "
        "(text|room|picture)| here| for me|)", "count (dracula|on me|me in|basie|of monte cristo)", "can I count on you?",
        "how many (words|letters|people|<thing>s|files|lines) are (in this text|here|in the room|there|in this file|in my "
        "house)?", "count the (vowels|words|consonants|sentences) in (<word>|this sentence|the word <word>)",
        "countdown to (<holiday>|launch|zero hour)",
        "(make|create|draw|write|show) (a |me a |)table (of|with|comparing|for) (countries|capitals|the planets|elements|"
        "animals|my expenses|prices|<subject>|<thing>s|cities|the presidents|names and ages)( and (<subject>|their (size|"
        "population|price))|)", "(book|reserve|set|clean|build|buy) (a|the) table( for (two|four|<small>)|)",
        "table (tennis|of contents|manners|salt|lamp|for two)", "periodic table",
        "the (round|dinner|coffee|water|league|train|bus) (table|timetable)", "(excel|pivot|sql|html|word) table",
        "what is (a|the) (table|multiple|multiplication table|league table) (good |)for?",
        "list (of |all |the |ten |my )(ingredients|files|countries|presidents|animals|movies|songs|names|friends|tasks|"
        "employees|<thing>s|jobs|cities|kings|things to do)( in <country>| in (this folder|alphabetical order)|)",
        "(shopping|to-do|bucket|guest|wish|check|price) list",
        "(make|write) a (shopping|to-do|guest|packing|reading) list( for <holiday>|)",
        "name (a|an|one|some|five|three|ten) (famous |)(<thing>s|animals|fruits|cities|actors|movies|bands|countries|rivers|"
        "birds|scientists|colors of cars)", "name (my|a|the) (dog|cat|baby|company|band|boat|ship)",
        "what are the (names|types|kinds|parts) of (clouds|<thing>s|trees|all my friends|the apostles)?",
        "the first (president|man on the moon|world war|lady|name|aid|computer|date|amendment|movie)",
        "the first <small> (presidents|elements|letters of my name|people|books of the bible|decimals of pi)",
        "first <small> (digits of pi|presidents|elements|kings)",
    ),
    "functions": (
        "(write|show me|give me) a (for|while|do while|for each|nested|infinite) loop( in (<known>|<code>)|)",
        "(for|while) loop( in (<known>|<code>)| syntax|)",
        "how (do I|to) (write|make|use|declare|define|create) (a|an) (loop|array|class|variable|dictionary|list|object|string|"
        "function|if statement|lambda|decorator|generator|promise|module|package|switch|map)( in (<known>|<code>)|)?",
        "(<known>|<code>) (loop|array|class|dictionary|list comprehension|string|if statement|lambda|regex|tutorial|example|"
        "decorator|generator|async await|promise|thread|import|error|syntax|interview questions|vs <code>)",
        "what (is|are) (a|an|the) (function|class|variable|loop|closure|promise|list comprehension|decorator|array|string|"
        "boolean|callback|lambda)s?( in (<known>|<code>|math)|)?",
        "(write|create|make|code|build) (a|an|me a) (<known> |<code> |)(<app>)( in (<known>|<code>)|)",
        "(<known>|<code>) (<app>)",
        "(write|show me|create) (a |)(<known>|<code>) (function|code|script|program|snippet) (that|which) (<task>)",
        "(<known>|<code>) (code|script|function) (that|which) (<task>)", "a (<known>) function that (<task>)",
        "(write|make) a function that (<task>)( in (<known>|<code>)|)", "function (<task>)",
        "what (is|are) the function of (the heart|mitochondria|the liver|a verb|the nose|a capacitor|the government)?",
        "functions of (the brain|management|the skin|money)",
        "(why|how) (does|is|do) (my|this|the) (function|code|loop|program|script|class) (not work|slow|return none|crash|return "
        "undefined|never end)?",
        "(debug|fix|explain|optimize|refactor|test|review|comment|run) (this|my|the) (function|code|program|script|loop|"
        "class)(: <word>(<word>)|)", "(install|uninstall|update|learn|download) (<known>|<code>|pip|node|npm)",
        "how (long|hard) (does it take|is it) to learn (<known>|<code>)?", "who (invented|created|made) (<known>|<code>)?",
        "(is|are) (<known>|<code>|pythons) (dead|good|dangerous|snakes|free|hard|open source)?",
        "what (is|can I do with) (<known>|<code>)( used for|)?",
        "what does (print|console.log|return|def|var|let|import|len|range) (do|mean)?",
        "print (this page|my document|a photo|money|<word>)", "hello world in (<code>)", "(<code>) hello world",
        "hello world (meaning|movie|history)", "(<code>) (fizzbuzz|factorial|fibonacci|palindrome|is prime)",
        "fizz (drinks|water)", "fibonacci (spiral|biography|in nature|day)", "palindrome (dates|examples|of my name)",
        "factorial (design|experiment)",
    ),
    "words": (
        "reverse (my car|gear|engineering|a linked list|the curse|osmosis|the charge|psychology|the decision|the order|a matrix|"
        "an image|the video|time|<n>)", "in reverse (order|gear)", "(go|step|walk|look) backwards",
        "spell (check|check my essay|caster|of magic|bound|my name)", "cast a spell( on <name>|)", "(a|the) dry spell",
        "spelling bee( winner|)",
        "what is the (meaning|origin|plural|past tense|opposite|synonym|definition|etymology|rhyme|gender) of (<word>|the word "
        "<thing>|<thing>|<color>)?", "(synonym|synonyms|antonym|rhymes|another word) (for|of|with) (<thing>|<adjective>|<word>)",
        "what rhymes with (<thing>|<word>|<color>)?", "use (<thing>|<word>|the word <adjective>) in a sentence",
        "how many (syllables|vowels|consonants) (are |)(in|does) (<thing>|<word>|the word <thing>)( have|)?",
        "is (<word>|<thing>) a (word|noun|verb|palindrome)?", "what does (<word>|<thing>|<adjective>) mean?",
        "a (word|letter|sentence) (with|of|that begins with) <small> letters", "unscramble <word>", "anagram of <thing>",
        "the longest word (in <far>|)", "in other words", "word of the day", "microsoft word", "magic word", "a five letter word",
        "(translate|say|write) (<subject>|my name|this|this page|the menu|a sentence|the text|<adjective> <thing>|I am a <job>|"
        "where is the <thing>) (to|into|in) (<tongue>|<far>)",
        "how do you say (<thing>|<subject>|<color>|my name is <name>|where is the <thing>|I am <adjective>|<n>) in (<tongue>|"
        "<far>)?", "<thing> in (<tongue>|<far>)",
        "(translate|say) (hello|thank you|goodbye|good morning|yes|please) (to|into|in) <far>",
        "(learn|teach me|how do I learn|who speaks) (<tongue>|<far>)",
        "(french|italian|spanish|german) (fries|toast|kiss|food|wine|press|revolution|shepherd|cars|grammar|music|embassy)",
        "say (my name|it again|yes to the dress|cheese|no more|please to <name>|something)",
        "goodbye (yellow brick road|lenin|my love)", "(thank you|hello) (card|kitty|fresh|letter|by adele|speech)",
        "google translate", "translator (app|job|salary)",
        "who (said|says|sang) (hello|goodbye|good morning vietnam|good night|yes we can)?",
    ),
    "jokes and haiku": (
        "is this a joke?", "you must be joking", "(the joker|joker movie|killing joke|batman and joker)",
        "(explain|rate|translate|finish) (this|my|the|that) (joke|poem|haiku)( for me|)",
        "why is (this|that|the) (joke|meme|movie) funny?",
        "(what is|explain|define|who invented|history of) (a |the |)(joke|haiku|sonnet|limerick|poem|poetry|humor)(s|)?",
        "who (wrote|is the author of) (this|the|that) (poem|haiku|joke|song|book)?",
        "how many syllables (does a haiku have|are in a haiku|in <thing>)?",
        "analyze the (poem|haiku|sonnet) (by <name>|the raven|called <word>)",
        "(write|sing) (a|me a) (song|rap|sonnet|limerick|ballad|novel|screenplay|speech|story|fairy tale|riddle)( about "
        "<subject>|)", "tell me a (story|secret|riddle|lie|fact|fun fact|bedtime story|tongue twister)( about <subject>|)",
        "(write|tell me) something (sad|scary|romantic|interesting|nice|mean|about yourself in <far>)",
        "(funny|sad|scary) (movies|videos|cats|names|pictures|quotes|memes)",
        "a (funny|sad|good) (movie|book|story|name|picture|song)( about <subject>|)", "poem by <name>",
        "the best (poem|joke|comedian|comedy|poet)( ever| of <year>|)", "stand up comedy (tickets|in <capital>)",
        "make (me|a) (famous|rich|happy|a sandwich|an omelet|dinner|a website|a plan|a logo|coffee)",
        "cheer for (<country>|the team)",
        "(another|one more) (beer|time|cup of coffee|chance|day in paradise|brick in the wall|idea|way|example of <subject>)",
    ),
    "talk": (
        "who (are|is) (they|she|he|that|the beatles|my father|the owner|your boss|your daddy|the president)?",
        "what (can|should|could) (he|she|they|we|my <job>|a <job>|a <thing>) do( about <subject>| for me|)?",
        "(help|help me) (fix my <thing>|with my (homework|taxes|code|essay|resume|divorce)|find a job|move|lose weight|sleep|"
        "cook|choose a <thing>|write an essay|study)",
        "how are (you able to <verb> <subject>|airplanes built|babies made|stars formed|diamonds made|my friends|things made|"
        "movies made|the children)?", "thanks(giving| for the memories| obama)( dinner| recipe|)",
        "(hello|hi) from the other side", "hello kitty( and friends|)",
        "(good|nice) (restaurants|movies|books|weather|hotels|shoes)( in <capital>| today|)",
        "what is (a|an|the) (app|chat|model|fashion model|car model|role model|token of love|token ring|bus token|block|city "
        "block|diffusion of gas|draft beer|nba draft|block party)?", "(fashion|role|business|car|3d|economic|climate) models?",
        "how (do|does) (a|an) (draft|diffusion|osmosis|decoding ring|jpeg decoder|barcode|block chain|slip|stream|engine|"
        "fridge) work?", "(nba|nfl|beer|military) draft( <year>|)",
        "(what is|explain) (osmosis|stock speculation|streaming|a stream|a slipstream in cycling|flash photography|adobe "
        "flash)( in biology|)?", "(netflix|live|video|game|small mountain) stream(ing|)( services|)",
        "(flash|the flash|flash gordon|adobe flash|flash flood|flash drive|dash)( movie| season <small>|)",
        "how fast (are|is|can|was) (you run|cheetahs|light|<name>|a <thing>|the internet)?",
        "are you (married|from <country>|old enough|going to <capital>|a <job>|my friend|free tonight|open on <day>|hiring)?",
        "do you (like|love|hate|know|want|need|eat|drink|remember|believe in|own|sell) (<subject>|<name>|pizza|cats|me|music|"
        "<country>|a <thing>)?",
        "can you (<verb> <subject>|drive|swim|dance|sing|cook|fly|see me|hear music|draw|browse the web|open files|read pdfs|"
        "keep a secret|call me|remember me)?",
    ),
}  # fmt: skip
"""Patterns by the kinds whose words they borrow."""

PARTS: dict[str, tuple[str, ...]] = {
    part: tuple(texts.split("|"))
    for part, texts in {
        "contest": (
            "world cup|super bowl|match|election|lottery|race|game|tournament|oscars|olympics|fight|championship|final|debate|"
            "grammys"
        ),
        "time": "week|month|year|night|weekend|season|spring|summer|winter|autumn|time",
        "day": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|monday|friday|sunday",
        "holiday": (
            "Christmas|Easter|Halloween|Thanksgiving|New Year|Ramadan|my birthday|the holidays|Mother's Day|Diwali|"
            "Black Friday|spring break"
        ),
        "planet": "Mercury|Venus|Mars|Jupiter|Saturn|Uranus|Neptune|Pluto|mars|venus|jupiter|earth|the moon",
        "show": "Friends|Breaking Bad|the Simpsons|Doctor Who|Lost|Stranger Things|the Office|Game of Thrones|the Crown",
        "ocean": "Pacific|Atlantic|Indian|Arctic|Southern",
        "continent": "Africa|Asia|Europe|South America|North America|Oceania|Antarctica",
        "color": "red|blue|green|yellow|purple|orange|black|white|pink|brown",
        "thing": (
            "car|dog|cat|house|phone|tree|elephant|whale|lion|chair|lamp|bike|boat|book|apple|egg|window|door|cup|shoe|hat|"
            "guitar|horse|mountain|bridge|truck|bird|shark|ant|mouse|pizza|cake|ball|box|key|clock|camera|laptop|sofa|bed|"
            "knife|bottle|shirt|coat|ring|bag|train|plane"
        ),
        "money": "dollars|euros|pounds|yen|usd|eur|gbp|francs|rupees|bitcoin|pesos|swiss francs|yuan",
        "known": "python|javascript|Python|JavaScript|js",
        "code": (
            "c|c++|rust|java|go|swift|ruby|php|perl|kotlin|haskell|lua|sql|bash|c#|scala|r|assembly|typescript|html|css|Rust|"
            "Java|Go|SQL|Swift"
        ),
        "app": (
            "web scraper|calculator|game|snake game|todo app|chat bot|website|web server|login page|quiz|password generator|"
            "tic tac toe game|weather app|clock|timer|parser|sorting algorithm|binary search|linked list|stack|queue|class|"
            "unit test|regex|api|rest api|discord bot|backup script|stopwatch|crawler|neural network|animation|dice roller|"
            "rock paper scissors game|text editor|file reader|csv parser|quick sort|bubble sort|merge sort|hash map|"
            "binary tree|matrix multiplication|timer|counter|button|form|popup|loop|recursion example|decorator"
        ),
        "task": (
            "sorts a list|reads a file|downloads a page|sends an email|plays a game|draws a circle|parses json|opens a window|"
            "connects to a database|merges two lists|removes duplicates|prints a triangle|computes a square root|counts words|"
            "checks a password|converts a date|counts letters|capitalizes a word|splits a string|joins two strings|reads a csv|"
            "writes a file|gets the weather|calls an api|finds the shortest path|converts celsius to fahrenheit|rolls a die|"
            "makes a random number|shuffles a list|checks for anagrams|validates an email|finds duplicates|"
            "computes the average|computes the median|finds the second largest number|multiplies matrices|prints a pattern|"
            "translates text|plays a sound|shows the time|counts the words in a file|compresses a file|encrypts text|"
            "renames files|resizes an image|finds a substring|replaces spaces|trims a string|converts a number to binary|"
            "solves sudoku|loops over a list|loops from 1 to 10|sorts words|lists files|flattens a list|finds the mode|"
            "waits a second|logs in"
        ),
        "tongue": "French|Spanish|German|Italian|Portuguese|french|spanish|german",
    }.items()
}  # fmt: skip
