import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A part of a page under one heading. */
export interface GuideSection {
  /** The file of the page below `docs/`: `spend/budgets.md`. */
  readonly page: string;
  readonly pageTitle: string;
  /** The ID of the heading on the page. */
  readonly anchor: string;
  readonly title: string;
  /** The text without markup, in one line. */
  readonly text: string;
  /** What other tools call the subject of the section, from the glossary: `guardrails, content filter`. */
  readonly otherWords?: string;
  /** Whether the page is about the code, and not about the use of Signalbox. */
  readonly isInternal?: boolean;
}

/** A section that a search found. */
export interface GuideHit extends GuideSection {
  /** The text around the first word that was found. */
  readonly excerpt: string;
}

/** How many words of a query count, and how many sections a search returns. */
const [WORDS_MAX, HITS_MAX] = [8, 20];
/** The longest query, in characters. The rest is ignored. */
export const QUERY_MAX = 200;
/** The text of an excerpt before and after the word, in characters. */
const [BEFORE, AFTER] = [60, 180];
/** How often a word in the text counts. A long table would otherwise come before the section about the word. */
const COUNT_MAX = 5;

/** Words of questions that say nothing about the subject. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'a an and are can do does for from how i if in is it my of on one or the to what when which why with'.split(' '),
);

/** The words of a query, in lower case and each once, without endings such as the plural's. */
export function wordsOf(query: string): readonly string[] {
  const words = query.slice(0, QUERY_MAX).toLowerCase().split(/\s+/).filter(Boolean);
  const named = words.filter((word) => !EMPTY_WORDS.has(word));
  return [...new Set((named.length === 0 ? words : named).map(stemOf))].slice(0, WORDS_MAX);
}

/** @returns the part of an English word that its forms share: `retr` of `retries`, `cach` of `caching`. */
const stemOf = (word: string): string => word.replace(/^([a-z]{4,})(?:ies|ing|s)$/, '$1');

/**
 * Finds the sections that contain the most words of a query. Of sections with equally many words, those with the words in their titles come
 * first, then those that contain them more often. Sections about the code come last, also if they contain more of the words.
 */
export function searchGuide(sections: readonly GuideSection[], query: string): readonly GuideHit[] {
  const words = wordsOf(query);
  const internals = sections.filter(({ isInternal }) => isInternal);
  const others = sections.filter(({ isInternal }) => !isInternal);
  return [...bestOf(others, words), ...bestOf(internals, words)]
    .slice(0, HITS_MAX)
    .map((section) => ({ ...section, excerpt: excerptOf(section.text, words) }));
}

function bestOf(sections: readonly GuideSection[], words: readonly string[]): readonly GuideSection[] {
  const ranked = sections.map((section) => ({ section, ...scoreOf(section, words) })).filter(({ found }) => found > 0);
  const most = Math.max(0, ...ranked.map(({ found }) => found));
  const best = ranked.filter(({ found }) => found === most).sort((one, other) => other.score - one.score);
  return best.map(({ section }) => section);
}

function scoreOf({ pageTitle, title, text, otherWords = '' }: GuideSection, words: readonly string[]) {
  const [pageName, name, body] = [pageTitle, title, text].map((one) => one.toLowerCase()) as [string, string, string];
  let [found, score] = [0, 0];
  for (const word of words) {
    const count = Math.min(COUNT_MAX, body.split(word).length - 1);
    const named = (otherWords.includes(word) ? 40 : 0) + (name.includes(word) ? 20 : 0);
    const own = named + (pageName.includes(word) ? 10 : 0) + count;
    if (own > 0) found++;
    score += own;
  }
  return { found, score };
}

function excerptOf(text: string, words: readonly string[]): string {
  const lower = text.toLowerCase();
  const places = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const at = places.length === 0 ? 0 : Math.min(...places);
  const start = at <= BEFORE ? 0 : text.indexOf(' ', at - BEFORE) + 1;
  const end = text.length <= at + AFTER ? text.length : text.lastIndexOf(' ', at + AFTER);
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${end < text.length ? ' …' : ''}`;
}

/**
 * Reads all pages of a folder as sections. The list of all pages is left out, because it mentions every subject. Its part "Internals" says
 * which pages are about the code, and the glossary says what other tools call a subject.
 */
export async function readGuide(folder: string): Promise<readonly GuideSection[]> {
  const textOf = (name: string): Promise<string> => Bun.file(join(folder, name)).text();
  const names = (await readdir(folder, { recursive: true }))
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .sort();
  const internals = internalPages(await textOf('README.md'));
  const otherWords = wordsOfOtherTools(await textOf('glossary.md'));
  const sections: GuideSection[] = [];
  for (const name of names) {
    const isInternal = internals.some((internal) => name.startsWith(internal));
    const found = sectionsOf(name, await textOf(name));
    sections.push(
      ...found.map((section, at) => {
        const words = [otherWords.get(`${name}#${section.anchor}`), at === 0 ? otherWords.get(name) : undefined];
        return { ...section, isInternal, otherWords: words.filter(Boolean).join(', ') };
      }),
    );
  }
  return sections;
}

/** The pages and folders that the part "Internals" of the list of all pages names. */
function internalPages(list: string): readonly string[] {
  const part = /^## Internals\n(.*?)(?=^## |$(?![\s\S]))/ms.exec(list)?.[1] ?? '';
  return [...part.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
}

/** Reads the table of the glossary: for each section that it links to, the words that other tools use, in lower case. */
function wordsOfOtherTools(glossary: string): ReadonlyMap<string, string> {
  const rows = [...glossary.matchAll(/^\| ([^|]+?) +\| \[[^\]]+\]\(([^)]+)\)/gm)];
  return new Map(rows.map(([, words = '', link = '']) => [link, words.toLowerCase()]));
}

/** Divides a page at its headings of the first three levels. @param page the file of the page @param text its Markdown */
export function sectionsOf(page: string, text: string): readonly GuideSection[] {
  const [, ...parts] = pageMarkup(text).split(/<h[1-3] id="([^"]*)">/);
  const found: GuideSection[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [title = '', body = ''] = (parts[at + 1] ?? '').split(/<\/h[1-3]>/);
    const pageTitle = found[0]?.pageTitle ?? plain(title);
    found.push({ page, pageTitle, anchor: parts[at] ?? '', title: plain(title), text: plain(body) });
  }
  return found;
}

/** Turns the Markdown of a page into HTML. The headings get the IDs that GitHub gives them, because links to headings use these IDs. */
export function pageMarkup(text: string): string {
  const ids = new Set<string>();
  return Bun.markdown.html(text).replace(/<(h[1-6])>(.*?)<\/\1>/gs, (_, tag: string, title: string) => {
    const slug = plain(title)
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let id = slug;
    for (let count = 1; ids.has(id); count++) id = `${slug}-${count}`;
    ids.add(id);
    return `<${tag} id="${id}">${title}</${tag}>`;
  });
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

/** Removes tags from markup that this server made. */
const plain = (markup: string): string =>
  markup
    .replace(/<\/?(?:p|li|tr|td|th|pre|ul|ol|table|br|h\d)[^>]*>/g, ' ')
    .replace(/<[^>]*>/g, '')
    .replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => ENTITIES[name] ?? '')
    .replace(/\s+/g, ' ')
    .trim();
