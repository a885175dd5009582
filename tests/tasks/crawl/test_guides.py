"""Help topics become guides; prose is told from data."""

from pydoc_data.topics import topics

from tasks.crawl.guides import guides, reads_like_prose


def test_guides_hold_every_topic_once_and_leave_out_what_another_contains() -> None:
    made = guides({"while": "about while", "compound": "all statements, about while too", "new": "unknown so far"})
    assert made == {"statements": "all statements, about while too\n", "further-topics": "unknown so far\n"}


def test_the_topics_of_this_python_become_book_length_guides() -> None:
    texts = guides(topics)
    assert sum(map(len, texts.values())) > 300_000
    assert all(topic.strip("\n") in "".join(texts.values()) for topic in topics.values())


def test_prose_is_told_from_word_lists_and_tables() -> None:
    prose = "The library is open on Monday, and anybody who wants to read may sit at the table in the hall.\n" * 20
    assert reads_like_prose(prose)
    assert not reads_like_prose("apple\npear\nplum\n" * 100)
    assert not reads_like_prose("0.1 0.2 0.3 0.4 0.5\n" * 100)
    assert not reads_like_prose("")
