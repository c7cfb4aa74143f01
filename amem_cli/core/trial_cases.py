"""The small cases that a language model is tried with: everyday notes, and what is right."""

from __future__ import annotations

from amem_cli.core.german_trial_cases import CELLAR, CHOIR, HIVE
from amem_cli.core.trial_note import OlderNote, TrialCase

TRIAL = "trial-2"
VOCABULARY = ("baking", "garden", "health", "home", "travel", "work", "databases", "books")
# So many are asked before it is clear that a model can do nothing with such a question.
PROBES = 2

FERRY = TrialCase(
    "Ferry to Gozo no longer takes cash",
    "The man at the Gozo ferry sent us back: since May they take cards or the app, no cash. The"
    " machine for coins is gone. So the purse of coins for the ferry can stay at home.",
    ("ferry", "gozo", "cash", "coin", "card", "app", "purse"),
    (
        OlderNote(
            "related",
            "Bring coins for the Gozo ferry",
            "The Gozo ferry must be paid in coins, at the machine on the pier.",
            "The ferry to Gozo is paid in coins at the machine on the pier; cards do not work.",
            ("Gozo ferry", "coins", "machine on the pier"),
        ),
        OlderNote(
            "look-alike",
            "Coin collection of grandfather",
            "Grandfather's coins from Malta are worth more for their story than in money.",
            "The dealer looked at the coins from Malta: forty euros for all of them, at most.",
            ("coin collection", "Malta", "dealer"),
        ),
        OlderNote(
            "look-alike",
            "Paying by card at the market",
            "Most stalls of the Saturday market take cards from ten euros on.",
            "At the Saturday market most stalls take cards now, though only from ten euros on.",
            ("Saturday market", "cards", "stalls"),
        ),
        OlderNote(
            "unrelated",
            "Pruning the old pear tree",
            "The old pear tree is pruned in February, before the buds swell.",
            "Prune the pear tree in February; cut the water shoots first, then the crossing ones.",
            ("pear tree", "pruning"),
        ),
    ),
    changes=True,
)
BACKUPS = TrialCase(
    "Backups that nobody had tried",
    "The nightly dump of the shop's database had been empty since February: the disk was full and"
    " the script ended with success all the same. We only saw it when we had to restore. From now"
    " on a restore into a spare machine runs every Sunday and its rows are counted.",
    ("backup", "dump", "database", "restore", "disk", "script"),
    (
        OlderNote(
            "related",
            "A backup is only what was restored once",
            "Only a backup whose restore was tried can be relied on.",
            "Rule from the talk: nobody wants backups, everybody wants restores. So try them.",
            ("backup", "restore"),
        ),
        OlderNote(
            "related",
            "The dump script hides errors of its pipe",
            "The nightly dump script ends with success even where the dump itself fails.",
            "The dump script pipes into gzip, so its exit status is that of gzip: errors of the"
            " nightly dump are lost without pipefail.",
            ("dump script", "exit status", "gzip"),
        ),
        OlderNote(
            "look-alike",
            "The shop is closed on Sunday",
            "The bicycle shop opens from Tuesday to Saturday and is closed on Sunday.",
            "The bicycle shop with the spare parts is closed on Sunday and on Monday.",
            ("bicycle shop", "Sunday"),
        ),
        OlderNote(
            "look-alike",
            "Restoring the oak table",
            "The oak table was sanded and oiled three times to restore its top.",
            "Restored the table: sanded it, three coats of oil, one night between each of them.",
            ("oak table", "oil"),
        ),
    ),
)
BEANS = TrialCase(
    "Why the bean seedlings fell over",
    "The beans from the shelf in the corridor grew long, pale and thin, and fell over when I"
    " planted them out. Those from the window sill stood. It was the light, not the water.",
    ("bean", "seedling", "light", "shelf", "window", "pale"),
    (
        OlderNote(
            "related",
            "Seedlings need fourteen hours of light",
            "Seedlings stay short and strong with fourteen hours of light a day.",
            "Tomato and bean seedlings want fourteen hours of light; with less they stretch, get"
            " pale and break when they are planted out.",
            ("seedlings", "hours of light", "tomato"),
        ),
        OlderNote(
            "look-alike",
            "Shelf in the corridor came loose",
            "The corridor shelf fell because two plugs were too short for the plaster.",
            "The shelf in the corridor fell down with all the books: two plugs were too short.",
            ("shelf", "corridor", "plugs"),
        ),
        OlderNote(
            "look-alike",
            "Bean soup for a cold evening",
            "White beans with sage and lemon, soaked overnight, make the best soup.",
            "Soak the white beans overnight, cook them with sage, add lemon at the very end.",
            ("bean soup", "white beans", "sage"),
        ),
        OlderNote(
            "unrelated",
            "Parents' evening moved to the library",
            "The parents' evening takes place in the school's library.",
            "The parents' evening on the ninth is in the library, as the hall is being painted.",
            ("parents' evening", "library"),
        ),
    ),
)
DENTIST = TrialCase(
    "Dentist moved the check-up to June",
    "The practice called: they rebuild in May, so my check-up with Dr. Amin is on 12 June at eight,"
    " and not on 4 May as planned.",
    ("check-up", "dentist", "amin", "june", "practice"),
    (
        OlderNote(
            "related",
            "Check-up with Dr. Amin on 4 May",
            "The dental check-up with Dr. Amin is on 4 May at eight.",
            "Check-up with Dr. Amin on 4 May at eight, bring the insurance card.",
            ("check-up", "Dr. Amin", "4 May"),
        ),
        OlderNote(
            "look-alike",
            "Rebuilding the bathroom in June",
            "The bathroom is rebuilt in June; the tiler comes on the twelfth.",
            "The tiler comes on 12 June at eight; the bathroom cannot be used for a week.",
            ("bathroom", "tiler", "June"),
        ),
        OlderNote(
            "look-alike",
            "Practice the cello in the morning",
            "Half an hour of cello before breakfast works better than an hour at night.",
            "Half an hour of practice at eight in the morning beats an hour late at night.",
            ("cello", "practice", "morning"),
        ),
        OlderNote(
            "unrelated",
            "Why glass is drawn from a tin bath",
            "Window glass is flat because it floats on molten tin while it cools.",
            "Float glass: the ribbon swims on molten tin, so both sides come out flat.",
            ("float glass", "molten tin"),
        ),
    ),
    changes=True,
)
SHOES = TrialCase(
    "Running shoes wear out on the left",
    "After 500 kilometres the left shoe is worn on the outside and the right one is fine. The shop"
    " filmed me running: the left foot tips outwards.",
    ("running", "shoe", "foot", "kilomet"),
    (
        OlderNote(
            "look-alike",
            "Running the dishwasher at night",
            "The dishwasher runs after ten, when the power is cheaper.",
            "Run the dishwasher after ten: the power costs a third less, and nobody hears it.",
            ("dishwasher", "power", "night"),
        ),
        OlderNote(
            "look-alike",
            "The shop on the left bank closes",
            "The bookshop on the left bank closes at the end of March.",
            "The shop on the left bank of the river closes in March; everything is half price.",
            ("bookshop", "left bank", "March"),
        ),
        OlderNote(
            "look-alike",
            "Film night with the neighbours",
            "On the first Friday the neighbours watch a film in our cellar.",
            "First Friday of the month: film night in the cellar, everyone brings a chair.",
            ("film night", "neighbours", "cellar"),
        ),
        OlderNote(
            "look-alike",
            "The left brake of the bicycle rubs",
            "The bicycle's left brake pad rubs on the outside of the rim.",
            "After the tour the left brake pad rubbed on the rim; two turns of the screw were it.",
            ("bicycle", "brake pad", "rim"),
        ),
    ),
)
RYE = TrialCase(
    "Rye bread keeps a week in linen",
    "The rye loaf in the linen bag was still good after seven days. The sour in it keeps the mould"
    " away, as with the wheat sourdough, only longer.",
    ("rye", "bread", "linen", "mould", "sour"),
    (
        OlderNote(
            "related",
            "Sourdough bread does not go mouldy",
            "The acid of sourdough keeps bread from going mouldy for days.",
            "Wheat sourdough lay five days without mould; the acid holds it back.",
            ("sourdough", "mould", "acid"),
        ),
        OlderNote(
            "related",
            "Bread in a plastic bag is mouldy by Wednesday",
            "Bread moulds within three days in plastic, for its damp cannot leave.",
            "Sunday's bread in the plastic bag: mouldy by Wednesday. It needs to breathe.",
            ("bread", "plastic bag", "mould"),
        ),
        OlderNote(
            "look-alike",
            "Linen trousers for the journey",
            "Linen trousers dry overnight and suit the heat of the south.",
            "Linen dries overnight, so two pairs of trousers are enough for a week.",
            ("linen trousers", "journey"),
        ),
        OlderNote(
            "look-alike",
            "Mould behind the wardrobe",
            "Mould grows behind the wardrobe since it stands close to the cold wall.",
            "There is mould behind the wardrobe; it has to stand a hand away from the wall.",
            ("mould", "wardrobe", "cold wall"),
        ),
    ),
)
# What decides most comes first, for a slow model is asked only as many as a minute holds.
TRIAL_CASES = (FERRY, CHOIR, BACKUPS, SHOES, BEANS, CELLAR, DENTIST, RYE, HIVE)
