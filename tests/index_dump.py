"""What an index holds, in a form in which two of them can be compared."""

from __future__ import annotations

from collections.abc import Mapping

from amem_cli.index.memory_index import MemoryIndex


def canonical_dump(index: MemoryIndex) -> Mapping[str, list[tuple[object, ...]]]:
    """Everything that follows from the vault alone, in an order free of history.

    Two indexes of the same vault are equal here; usage and attempts are left out, and so are the
    bits of vectors, whose centre is of the time when they were made.
    """
    assert isinstance(index, MemoryIndex)
    rows = index.file.rows
    dump: dict[str, list[tuple[object, ...]]] = {
        "encoder": [(index.vectors.encoder(),)],
        "notes": rows(
            "SELECT path, id, title, created, modified, keywords, tags, context, aliases,"
            " private, refused, text_hash, size, sha, language, is_clear, possible FROM notes"
            " ORDER BY path"
        ),
        "languages": [index.text.languages(), *rows("SELECT * FROM languages WHERE notes <> 0")],
        "words": _words(index),
        "events": rows("SELECT event, note, kind, record FROM events"),
        "processed": rows("SELECT text_hash, note FROM processed"),
        "stand_ins": rows("SELECT text_hash, note FROM stand_ins"),
        "superseded": rows("SELECT owner, source, target, relation, event FROM superseded"),
        "decisions": rows("SELECT * FROM decisions"),
        "suggestions": rows("SELECT * FROM suggestions"),
    }
    for table, columns in (
        ("names", "key, alias"),
        ("links", "position, target, kind, listed"),
        ("passages", "position, text, embed_key, embedded"),
        ("problems", "line, message, hint"),
    ):
        sql = f"SELECT path, {columns} FROM {table} JOIN notes USING(note) ORDER BY 1, 2, 3"
        dump[table] = rows(sql)
    if index.vectors.encoder() is not None:
        dump["vectors"] = rows(
            "SELECT n.path, p.position, v.embedding FROM vectors v JOIN passages p"
            " USING(passage) JOIN notes n USING(note) ORDER BY 1, 2"
        )
    return dump


def _words(index: MemoryIndex) -> list[tuple[object, ...]]:
    index.file.rows(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)"
    )
    paths = dict(index.file.rows("SELECT note, path FROM notes"))
    sql = "SELECT doc, term, col, offset FROM temp.places"
    return sorted((paths[doc], *rest) for doc, *rest in index.file.rows(sql))
