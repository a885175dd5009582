"""The crawl: what comes with the user's Python environment, saved as inputs that the pipeline reads like any crawl.

Property: equal environments give byte-identical folders, and no path of the machine is in them. The folder
appears whole or not at all; a second crawl of the same environment finds it and writes nothing. Cost: about 20
CPU-seconds with the default settings, most of it imports of the modules that are documented.
"""

import json
import platform
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from configs.base import fingerprint
from tasks.crawl import site
from tasks.crawl.guides import guides, reads_like_prose
from tasks.crawl.licences import PYTHON as PYTHON_LICENSE
from tasks.crawl.licences import normalise
from tasks.crawl.stage import (
    OWN_NAME,
    VERSION,
    CrawlConfig,
    CrawlSummary,
    SourceSummary,
    best_modules,
    dealt,
    in_order,
    reuse_toml,
    within,
)
from tasks.io.crawl_folder import CrawlFolder, NewFolder, read_folder
from tasks.io.documents import batched
from tasks.io.pydoc_process import Rendered, render
from tasks.io.python_environment import (
    PYTHON,
    Distribution,
    distributions,
    help_topics,
    machine_folders,
    required_by,
    standard_library,
)
from tasks.io.warc_writer import Page, warc_bytes

Report = Callable[[str, int, int], None]
_PAGES_HOST = "https://pages.python-environment.example"
_PACKAGES_HOST = "https://packages.python-environment.example"
_BATCH = 24
_SUMMARY = "crawl.json"


def crawl(destination: str | Path, config: CrawlConfig, report: Report | None = None) -> CrawlSummary:
    """Save the environment's documentation, code and texts below ``destination``.

    Args:
        destination: a folder that does not exist, is empty, or holds an earlier crawl.
        config: what to take, and how much.
        report: called with what is being done, how much of it is done, and how much there is.

    Raises:
        InputError: the folder holds something else, or cannot be written.
    """
    needed = required_by(OWN_NAME)
    installed = [
        standard_library(),
        *(
            item
            for item in distributions()
            if item.name not in {OWN_NAME, PYTHON} and (not needed or item.name in needed)
        ),
    ]
    identity = _identity(installed, config)
    folder = CrawlFolder(Path(destination), _SUMMARY)
    if (found := folder.summary()) and found.get("fingerprint") == identity:
        return CrawlSummary.model_validate({**found, "reused": True})
    with folder.building() as new:
        summary = _Crawl(new, installed, config, report or _silent).run(identity)
        new.write(_SUMMARY, (summary.model_dump_json(exclude={"reused"}, indent=2) + "\n").encode())
    return summary


def _identity(installed: list[Distribution], config: CrawlConfig) -> str:
    names = [f"{item.name}=={item.version}" for item in installed]
    return fingerprint(
        {
            "python": platform.python_version(),
            "distributions": names,
            "config": config.identity(),
            "version": VERSION,
            "machine": machine_folders(),
        }
    )


def _silent(what: str, done: int, total: int) -> None:
    """Report to nobody."""


class _Crawl:
    """One crawl into one folder."""

    def __init__(self, folder: NewFolder, installed: list[Distribution], config: CrawlConfig, report: Report) -> None:
        self._folder = folder
        self._config = config
        self._report = report
        self._machine = machine_folders()
        by_name = {item.name: item for item in installed}
        self._installed = [by_name[name] for name in in_order(by_name, config.first)]
        self._licenses = {item.name: _license(item) for item in self._installed}
        self._skipped: dict[str, str] = {}

    def run(self, identity: str) -> CrawlSummary:
        """Write all four sources."""
        counts = {"web": self._web(), "code": self._code(), "reference": self._reference(), "books": self._books()}
        return CrawlSummary(
            fingerprint=identity,
            sources={
                name: SourceSummary(num_documents=count, **self._folder.measured(name))
                for name, count in counts.items()
            },
            skipped_modules=dict(sorted(self._skipped.items())),
            licenses=dict(sorted(Counter(filter(None, self._licenses.values())).items())),
            unlicensed=sorted(name for name, spdx in self._licenses.items() if not spdx),
        )

    def _web(self) -> int:
        pages = sorted([*self._module_pages(), *_language_pages()], key=lambda page: page.url)
        for number, hand in enumerate(dealt(pages, self._config.web_files)):
            name = f"web-{number:05}.warc.gz"
            self._folder.write(f"web/{name}", warc_bytes(name, hand, self._config.fetched_at))
        return len(pages)

    def _module_pages(self) -> Iterator[Page]:
        chosen = self._chosen_modules()
        batches = [(name, batch) for name, modules in chosen.items() for batch in batched(modules, _BATCH)]
        total, done = sum(map(len, chosen.values())), 0
        modules = [batch for _, batch in batches]
        with closing(render(modules, self._config.module_cpu_seconds, self._config.processes)) as rendered:
            for (name, batch), results in zip(batches, rendered, strict=True):
                yield from filter(None, (self._page(name, result, chosen[name]) for result in results))
                done += len(batch)
                self._report("modules rendered", done, total)

    def _page(self, distribution: str, result: Rendered, related: list[str]) -> Page | None:
        """Make a page, or note why there is none."""
        title = f"{result.module}: {result.summary}" if result.summary else result.module
        html = site.page_html(f"{title} | {distribution}", result.html, distribution, result.module, related)
        content = site.without_machine(html, self._machine).encode(errors="replace")
        if result.skipped or len(content) > self._config.web_page_bytes:
            self._skipped[result.module] = result.skipped or f"page of {len(content)} bytes"
            return None
        return Page(site.page_url(distribution, result.module), content, self._licenses[distribution])

    def _chosen_modules(self) -> dict[str, list[str]]:
        """Choose modules, distribution by distribution, until there are enough."""
        config, left = self._config, self._config.web_pages
        chosen: dict[str, list[str]] = {}
        for item in self._installed:
            if left <= 0:
                break
            most = config.web_pages_of_python if item.name == PYTHON else config.web_pages_per_distribution
            if modules := best_modules(item.modules(), min(most, left), config.min_docstring_bytes):
                chosen[item.name] = modules
                left -= len(modules)
        return chosen

    def _code(self) -> int:
        left, count = self._config.code_bytes, 0
        licenses: dict[str, str] = {}
        for number, item in enumerate(self._installed, 1):
            limit = min(left, self._config.code_bytes_per_distribution)
            for name in within(item.sizes(item.python_files()), limit):
                data = item.read(name)
                if site.names_machine(data.decode(errors="replace"), self._machine):
                    continue
                self._folder.write(f"code/{item.name}/{name}", data)
                licenses[item.name] = self._licenses[item.name]
                left -= len(data)
                count += 1
            self._report("source code", number, len(self._installed))
        self._folder.write("code/REUSE.toml", reuse_toml(licenses).encode())
        return count

    def _reference(self) -> int:
        rows = [
            {
                "url": f"{_PACKAGES_HOST}/{item.name}",
                "title": f"{item.name}: {item.summary}" if item.summary else item.name,
                "text": site.without_machine(item.description, self._machine),
                "license": self._licenses[item.name],
                "fetched_at": self._config.fetched_at,
            }
            for item in sorted(self._installed, key=lambda item: item.name)
            if 0 < len(item.description) < self._config.book_description_bytes
        ]
        for number, hand in enumerate(dealt(rows, self._config.reference_files)):
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in hand)
            self._folder.write_gzip(f"reference/reference-{number:05}.jsonl.gz", lines.encode(errors="replace"))
        return len(rows)

    def _books(self) -> int:
        texts = {(PYTHON, f"python-{name}.txt"): text for name, text in guides(help_topics()).items()}
        seen: set[str] = set()
        for item in sorted(self._installed, key=lambda item: item.name):
            for name, raw in self._long_texts(item).items():
                text = site.without_machine(raw, self._machine)
                if text not in seen and reads_like_prose(text):
                    seen.add(text)
                    texts[item.name, name] = text
        contents = {place: text.encode() for place, text in texts.items()}
        taken = within({place: len(data) for place, data in contents.items()}, self._config.books_bytes)
        names = sorted({name for name, _ in taken})
        shelves = {
            name: f"shelf-{number * self._config.book_shelves // len(names)}/{name}"
            for number, name in enumerate(names)
        }
        for name, path in taken:
            self._folder.write(f"books/{shelves[name]}/{path}", contents[name, path])
        licenses = {shelves[name]: self._licenses[name] for name in names}
        self._folder.write("books/REUSE.toml", reuse_toml(licenses).encode())
        return len(taken)

    def _long_texts(self, item: Distribution) -> dict[str, str]:
        """Return a distribution's description, if it is long, and its long text files."""
        sizes = item.sizes(item.text_files())
        names = [name for name, size in sizes.items() if size >= self._config.book_min_bytes]
        texts = {name: item.read_text(name) for name in names}
        if len(item.description) >= self._config.book_description_bytes:
            texts["DESCRIPTION.md"] = item.description + "\n"
        return texts


def _license(item: Distribution) -> str:
    if item.name == PYTHON:
        return PYTHON_LICENSE
    return normalise(item.license_expression, item.license_field, item.classifiers, item.license_texts())


def _language_pages() -> list[Page]:
    """Return the pages in other languages that come with Glassworks."""
    pages = read_folder(Path(__file__).with_name("pages"), ".html")
    return [Page(f"{_PAGES_HOST}/{name}", content) for name, content in pages.items()]
