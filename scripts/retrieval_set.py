#!/usr/bin/env python3
"""Makes a set for `verger-benches retrieval` out of folders of Markdown: python3 scripts/retrieval_set.py OUT FOLDER...

Sections of 45 to 220 words become the documents. Half of the queries are headings that occur once and ask for their
section; the others are sentences taken out of a section that ask for the rest of it. The same folders give the same set.
It is for choosing parameters on text that is not the set whose figures are reported.
"""

import json
import os
import random
import re
import sys

MOST_DOCUMENTS = 3000
MOST_QUERIES = 700
SKIPPED_FOLDERS = {".git", "target", "legal", "tests", "test", "fixtures"}
SKIPPED_FILES = ("license", "licence", "copying", "notice", "code_of_conduct", "third")
# Headings that half of all files have: they do not ask for anything.
GENERAL = set(
    "overview usage installation introduction example examples license configuration contributing notes summary setup "
    "features requirements references changelog getting started see also table of contents prerequisites related "
    "added changed fixed removed description synopsis versioning contribution".split()
)


def markdown_files(folders):
    found = []
    for folder in folders:
        for place, inside, names in os.walk(folder):
            inside[:] = sorted(name for name in inside if name not in SKIPPED_FOLDERS)
            for name in names:
                if name.lower().endswith((".md", ".mdx", ".markdown")) and not name.lower().startswith(SKIPPED_FILES):
                    found.append(os.path.join(place, name))
    # By name first, so that where a folder lies on the machine does not change the order.
    return sorted(found, key=lambda path: (os.path.relpath(path, os.path.commonpath(folders)), path))


def plain(text):
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"\[\[([^\]|]*\|)?([^\]]*)\]\]", r"\2", text)
    text = re.sub(r"^\[[^\]]*\]:.*$", " ", text, flags=re.M)
    text = re.sub(r"<[^>]+>", " ", text)
    text = re.sub(r"https?://\S+", " ", text)
    return re.sub(r"\s+", " ", re.sub(r"[|*`>]+", " ", text)).strip()


def sections(path):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(400_000)
    except (OSError, UnicodeDecodeError):
        return
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"^ *(```|~~~).*?^ *\1", " ", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    parts = re.split(r"^(#{1,6} .+)$", text, flags=re.M)
    for heading, body in zip(parts[1::2], parts[2::2]):
        heading = re.sub(r"^[\d.\s)]+", "", re.sub(r"[#*`\[\]]", "", plain(heading)).strip())
        heading = re.sub(r"[^\w\s\-/&'?,.]", "", heading).strip()
        words = plain(body).split()
        if len(words) >= 45:
            yield heading, " ".join(words[:220])


def distinct(found):
    seen = set()
    for heading, body in found:
        start = body[:120].lower()
        if start not in seen:
            seen.add(start)
            yield heading, body


def asks(heading, times):
    words = re.findall(r"[A-Za-z]{3,}", heading)
    return times == 1 and len(words) >= 2 and not all(word.lower() in GENERAL for word in words)


def sentence_queries(documents, taken, choose):
    queries = []
    for number, document in enumerate(documents):
        if number in taken or len(queries) >= MOST_QUERIES:
            continue
        sentences = re.split(r"(?<=[.!?]) +", document)
        fit = [one for one in sentences if 8 <= len(one.split()) <= 25 and re.match("[A-Z]", one)]
        if len(sentences) >= 4 and fit:
            sentence = choose.choice(fit)
            rest = document.replace(sentence, " ", 1)
            if len(rest.split()) >= 40:
                queries.append((number, sentence))
                documents[number] = rest
    return queries


def main():
    out, folders = sys.argv[1], sys.argv[2:]
    choose = random.Random(11)
    found = list(distinct(section for path in markdown_files(folders) for section in sections(path)))
    choose.shuffle(found)
    found = found[:MOST_DOCUMENTS]
    times = {}
    for heading, _ in found:
        times[heading.lower()] = times.get(heading.lower(), 0) + 1
    documents = [body for _, body in found]
    headings = [(at, heading) for at, (heading, _) in enumerate(found) if asks(heading, times[heading.lower()])]
    choose.shuffle(headings)
    # Each document is asked for once, and both kinds get their share of them.
    headings = headings[: min(MOST_QUERIES, len(documents) * 2 // 5)]
    sentences = sentence_queries(documents, {at for at, _ in headings}, choose)
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"docs": documents, "heading_queries": headings, "sentence_queries": sentences}, file)
    print(f"{len(documents)} documents, {len(headings)} headings, {len(sentences)} sentences")


main()
