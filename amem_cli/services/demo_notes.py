"""The three notes that the demo adds to the template vault, and the question it then asks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoNote:
    """A note as a person would add it: no metadata, so that the machine's part is visible."""

    title: str
    content: str


DEMO_NOTES: tuple[DemoNote, ...] = (
    DemoNote(
        title="Weekly review moves to Friday lunch",
        content=(
            "From this week I do the weekly review on Friday at half past twelve, in the canteen. "
            "It replaces the Sunday evening review, which I missed four times in nine weeks: "
            "visitors, late trains, tired children. On Friday the notes of the week are still "
            "warm, and a wrong link made by the program is only days old. The three questions "
            "stay the same. New is a limit: thirty minutes, then I stop, even in the middle of a "
            "note. I try this for three weeks and write down how it went."
        ),
    ),
    DemoNote(
        title="The handover sheet on ward six",
        content=(
            "On ward six, where my sister works, the evening nurse fills in a sheet and is gone "
            "before the night shift comes. Nobody can be asked at three in the morning. 'Bed 4 as "
            "yesterday' costs a phone call, so every line stands alone: name, drug, dose in "
            "milligrams, hour, and why. She imagines a tired stranger who has never met the "
            "patient, and puts down what that stranger must be told. I have begun to write down "
            "my own ideas like that, in full, for somebody who knows nothing of this evening. "
            "Most of what I used to leave out had seemed too obvious to be worth the ink."
        ),
    ),
    DemoNote(
        title="Three Fridays in the canteen",
        content=(
            "The trial of the Friday review is over. I kept all three dates, so lunch is the "
            "right hour. Half an hour was too short: for fifteen notes I checked the links and "
            "never came to splitting or rewriting one. And what I read at the weekend waited six "
            "days to be looked at. So the Friday review stays, but only for checking what the "
            "program did. Splitting and rewriting move to an hour on the first Monday of the "
            "month."
        ),
    ),
)
"""Added in this order. The first supersedes a note of the template. The second supports one without
sharing its words. The third changes what the first means, whose metadata the machine wrote."""

DEMO_QUERY = "What can I learn from the handover sheet on ward six?"
"""Its best hit is the note on the ward, which holds the case. The rule behind the case stands in
`Write for a reader who has forgotten`, which the question's words do not reach and a link does."""
