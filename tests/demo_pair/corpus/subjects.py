"""Words from which questions of no kind are made."""

from __future__ import annotations

ASKS = tuple(
    "what is|what are|what's|who is|who was|who invented|who discovered|who made|who owns|who wrote|where is|where was|where are|when was|"
    "when is|when did|why is|why are|why does|how is|how does|how do|how are|how much is|how old is|how far is|how big is|how fast is|"
    "how deep is|how heavy is|how tall is|which is|is|are|does|did|do you know about|do you like|have you heard of|can you explain|"
    "what do you know about|what causes|what happens to|what happened to|what comes from|what kills|what eats|how long is|how hot is|"
    "how many people like|what do you think of|what's wrong with|what's the deal with|what is inside|what is the point of".split(
        "|"
    )
)
ORDERS = tuple(
    "explain|describe|summarize|tell me about|teach me about|write about|write a story about|write an essay on|give me facts about|"
    "help me with|compare|define|discuss|analyze|review|draw|design|plan|recommend|suggest|find|find me|show me|show me pictures of|"
    "search for|look up|write a song about|write a story with|write an email about|make|make me|build|create|create a plan for|"
    "give me advice on|give me a recipe for|give me ideas for|tell me a story about|tell me the history of|outline|brainstorm|"
    "write a blog post about|write a summary of|give me a summary of|prove|debate|talk about|let's talk about|list facts about|"
    "make a quiz about|write a rap about|invent|imagine|rate|buy|sell|order|book|diagnose|calculate the cost of|translate".split(
        "|"
    )
)
VERBS = tuple(
    "fix|learn|cook|bake|grow|clean|buy|sell|build|paint|draw|install|uninstall|remove|repair|train|feed|wash|open|close|find|lose|win|"
    "study|teach|understand|explain|write|read|edit|publish|invest in|save|spend|earn|borrow|steal|drive|park|fly|sail|ride|catch|throw|"
    "kill|cure|treat|prevent|avoid|stop|start|quit|forget|remember|love|hate|like|fear|trust|believe in|vote for|pay for|apply for|"
    "prepare for|plan|organize|book|cancel|delete|recover|encrypt|hack|debug|compile|deploy|test|measure|weigh|cut|freeze|boil|fry|roast|"
    "drink|eat|taste|smell|hear|see|watch|play|practice|design|invent|discover|explore|visit|leave|enter|join|marry|divorce|raise|"
    "adopt|celebrate|wear|iron|dye|sew|knit|charge|reset|update|downgrade|print|scan|send|receive|import|export|tax|sue|rent|own".split(
        "|"
    )
)
ADJECTIVES = tuple(
    "old|new|big|small|good|bad|cheap|expensive|healthy|dangerous|beautiful|ugly|fast|slow|famous|rare|common|broken|dirty|clean|sick|"
    "happy|sad|angry|funny|scary|strange|secret|modern|ancient|digital|electric|organic|vegan|wild|tame|hot|cold|wet|dry|heavy|light|"
    "loud|quiet|rich|poor|strong|weak|smart|stupid|easy|hard|early|late|popular|illegal|toxic|romantic|professional|formal|short|long|"
    "sweet|sour|spicy|fresh|frozen|empty|full|round|flat|deep|shallow|invisible|artificial|natural|economic|political|medical|blue|red|"
    "green|golden|wooden|plastic|French|German|Chinese|American|Roman|medieval|royal|holy|haunted|lonely|tiny|huge|perfect".split(
        "|"
    )
)
JOBS = tuple(
    "doctor|teacher|boss|lawyer|nurse|plumber|singer|actor|president|king|queen|pilot|farmer|chef|painter|poet|writer|scientist|student|"
    "landlord|neighbor|friend|mother|father|sister|brother|wife|husband|girlfriend|boyfriend|child|baby|customer|manager|soldier|priest|"
    "footballer|driver|dentist|engineer|programmer|politician|detective|wizard|cowboy|astronaut|athlete|colleague|daughter|son".split(
        "|"
    )
)
NAMES = tuple(
    "Albert Einstein|Isaac Newton|Marie Curie|Napoleon|Julius Caesar|Cleopatra|Abraham Lincoln|George Washington|Barack Obama|Elvis|"
    "Michael Jackson|Madonna|Taylor Swift|Mozart|Beethoven|Bach|Shakespeare|Goethe|Tolstoy|Hemingway|Jane Austen|Picasso|Van Gogh|"
    "Leonardo da Vinci|Michelangelo|Galileo|Darwin|Freud|Marx|Gandhi|Nelson Mandela|Churchill|Stalin|Queen Elizabeth|King Arthur|"
    "Alexander the Great|Genghis Khan|Marco Polo|Columbus|Neil Armstrong|Elon Musk|Bill Gates|Steve Jobs|Ada Lovelace|Alan Turing|"
    "Linus Torvalds|Socrates|Plato|Aristotle|Buddha|Jesus|Muhammad|Zeus|Thor|Batman|Superman|Spider-Man|Harry Potter|Frodo|Darth Vader|"
    "Sherlock Holmes|James Bond|Mickey Mouse|Pikachu|Mario|Messi|Ronaldo|Michael Jordan|Serena Williams|Usain Bolt|Muhammad Ali|"
    "my uncle|my teacher|my neighbor|the pope|the prime minister|the president|the queen|Santa Claus|the Easter Bunny|Dracula".split(
        "|"
    )
)
SUBJECTS = tuple(
    "a car|a house|a computer|a phone|a laptop|a printer|a router|a password|a virus|a vaccine|a fever|a cold|the flu|a cough|a rash|"
    "back pain|a toothache|blood pressure|cholesterol|allergies|depression|anxiety|insomnia|stress|a diet|protein|vitamins|sugar|salt|"
    "fat|calories|fasting|a marathon|yoga|push-ups|a gym|muscles|a lawsuit|a will|a patent|copyright|a visa|a passport|taxes|a mortgage|"
    "a budget|stocks|bonds|a pension|interest rates|a credit card|a bank|crypto|rent|a contract|a resume|an interview|a promotion|a raise|"
    "a startup|marketing|an invoice|a meeting|a presentation|a spreadsheet|an email|a thesis|an exam|homework|a scholarship|college|"
    "a lecture|history|world war two|the cold war|the Roman Empire|the Black Death|the Renaissance|slavery|the Holocaust|colonialism|"
    "the constitution|human rights|democracy|communism|capitalism|socialism|feminism|immigration|terrorism|a revolution|an election|"
    "a president|parliament|the supreme court|the police|prison|drugs|alcohol|tobacco|guns|nuclear weapons|a bomb|a war|peace|the EU|"
    "the UN|NATO|Brexit|a lion|a tiger|an elephant|a giraffe|a penguin|a shark|a whale|a spider|a snake|a parrot|a hamster|a rabbit|"
    "an ant|a butterfly|a mosquito|a mushroom|a cactus|an orchid|an oak|grass|moss|algae|coral|a fossil|a diamond|gold|silver|iron|"
    "copper|uranium|helium|hydrogen|oxygen|carbon|nitrogen|water|ice|steam|fire|smoke|lightning|thunder|a tornado|a hurricane|a tsunami|"
    "a drought|a flood|an avalanche|the atmosphere|the ozone layer|the equator|the north pole|the sahara|the amazon|the alps|mount Everest|"
    "the Grand Canyon|the Nile|the Eiffel Tower|the pyramids|the Great Wall|Stonehenge|the Titanic|the Mona Lisa|the Bible|the Quran|"
    "the Odyssey|Romeo and Juliet|Hamlet|Don Quixote|Moby Dick|Game of Thrones|Star Wars|Star Trek|the Matrix|Titanic|Frozen|Netflix|"
    "YouTube|Facebook|Instagram|TikTok|Twitter|Wikipedia|Google|Amazon|Apple|Microsoft|Tesla|NASA|SpaceX|OpenAI|an algorithm|a compiler|"
    "an operating system|a kernel|a thread|a mutex|a pointer|a regex|a database|an index|a query|an API|a web page|CSS|React|Docker|"
    "Kubernetes|git|Linux|a firewall|encryption|a blockchain|a neural network|deep learning|reinforcement learning|gradient descent|"
    "attention|a transformer|overfitting|a vector|a matrix|an eigenvalue|a derivative|an integral|a limit|a theorem|a proof|a fractal|"
    "a triangle|a circle|a hexagon|trigonometry|probability|a coin flip|a dice roll|the lottery|a puzzle|a riddle|sudoku|a crossword|"
    "poker|chess|checkers|monopoly|minecraft|fortnite|pokemon|zelda|a guitar|a piano|a violin|drums|a symphony|an opera|hip hop|rock music|"
    "a concert|a musical|ballet|tango|a painting|a sculpture|a photo|a camera|a lens|a film|an actor|a novel|a biography|a metaphor|"
    "a verb|grammar|a comma|slang|an accent|sign language|Esperanto|a lasagna|sushi|a burger|a pizza|an omelet|pancakes|a smoothie|a curry|"
    "a steak|tofu|cheese|wine|beer|whiskey|a cocktail|coffee|tea|chocolate|ice cream|a birthday cake|bread|a garden|a lawn|compost|a fence|"
    "a roof|a sink|a toilet|a leak|a light bulb|a fuse|an engine|brakes|a tire|a bicycle|a motorcycle|a train|a ticket|a flight|a hotel|"
    "a vacation|a beach|a cruise|a tent|a backpack|a map|a compass|sunscreen|a jacket|shoes|a dress|a suit|a haircut|makeup|a tattoo|"
    "perfume|jewelry|a wedding|a funeral|a baby|a name for my dog|a party|a gift|a date|a breakup|marriage|a divorce|my mom|my dad|my ex|"
    "my best friend|my roommate|my dog|my cat|my car|my job|my back|my phone|my computer|my future|the future|time|space|a black hole|"
    "dark matter|the big bang|an asteroid|a comet|an eclipse|a satellite|a telescope|aliens|ufos|ghosts|vampires|dragons|unicorns|"
    "fate|free will|consciousness|the soul|god|heaven|karma|truth|beauty|justice|happiness|love|hate|friendship|loneliness|courage|death|"
    "gravity|relativity|entropy|an atom|a molecule|a cell|a gene|evolution|an enzyme|a hormone|the liver|a kidney|the lungs|blood|bones|"
    "skin|hair|teeth|eyes|dreams|memory|sleep|a nightmare|hypnosis|meditation|the internet|wifi|bluetooth|a battery|solar panels|"
    "a wind turbine|a power plant|recycling|plastic|pollution|global warming|a heat pump|insulation|the weather|the news|the traffic|"
    "the score|the game last night|the meeting|the budget|the economy|inflation|unemployment|oil prices|the moon landing|area 51".split(
        "|"
    )
)
