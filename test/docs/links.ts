import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import GithubSlugger from 'github-slugger';
import { lexer, type Token, type Tokens } from 'marked';

/** What pages may link to: every file and folder of the repository, by its path from the root. */
export class Repo {
  readonly #root: string;
  /** Paths in exactly these letters, even if the file system ignores case; folders end with `/`. */
  readonly #paths = new Set<string>();
  readonly #anchors = new Map<string, ReadonlySet<string>>();

  constructor(root: string, unread: ReadonlySet<string>) {
    this.#root = root;
    this.#list('', unread);
  }

  filesLike(pattern: string): string[] {
    const glob = new Bun.Glob(pattern);
    return [...this.#paths].filter((path) => glob.match(path)).sort();
  }

  has(path: string): boolean {
    return path === '' || this.#paths.has(path) || this.#paths.has(`${path.replace(/\/$/, '')}/`);
  }

  /** Whether a path fits a pattern with `*`. */
  hasLike(pattern: string): boolean {
    return pattern.includes('*') ? this.filesLike(pattern).length > 0 : this.has(pattern);
  }

  text(path: string): string {
    return readFileSync(join(this.#root, path), 'utf8');
  }

  anchorsOf(page: string): ReadonlySet<string> {
    const known = this.#anchors.get(page) ?? anchorsIn(this.text(page));
    this.#anchors.set(page, known);
    return known;
  }

  #list(folder: string, unread: ReadonlySet<string>): void {
    for (const entry of readdirSync(join(this.#root, folder), { withFileTypes: true })) {
      const path = folder + entry.name;
      if (unread.has(entry.name)) continue;
      this.#paths.add(entry.isDirectory() ? `${path}/` : path);
      if (entry.isDirectory()) this.#list(`${path}/`, unread);
    }
  }
}

/** Returns every link or path of a page that leads nowhere, as `page: what is wrong`. */
export function brokenIn(page: string, text: string, repo: Repo): string[] {
  const found: string[] = [];
  for (const token of tokensIn(text)) {
    if (token.type === 'link' || token.type === 'image') found.push(...brokenTarget(page, text, `${token.href}`, repo));
    if (token.type === 'codespan') found.push(...brokenPath(page, `${token.text}`, repo));
    if (token.type === 'html') {
      const targets = [...token.raw.matchAll(/\b(?:href|src)="([^"]*)"/g)].map(([, target = '']) => target);
      found.push(...targets.flatMap((target) => brokenTarget(page, text, target, repo)));
    }
    // Markdown keeps a reference without a definition as text, so it must be checked here.
    if (token.type === 'text' && !hasParts(token)) {
      const left = [...token.raw.matchAll(/\[[^\][]+\]\[[^\][]*\]/g)].map(([reference]) => reference);
      found.push(...left.map((reference) => `${reference} is a reference that is not defined`));
    }
  }
  return found.map((problem) => `${page}: ${problem}`);
}

/** Returns the addresses of served pages, such as `/docs/guide/spend/budgets.md`, in a text without links that lead to no page or heading. */
export function brokenGuideIn(file: string, text: string, repo: Repo): string[] {
  return [...text.matchAll(/\/docs\/guide\/([\w./-]+\.md)(?:#([\w-]+))?/g)].flatMap(([address, page, anchor]) => {
    const path = `docs/${page}`;
    const isThere = repo.has(path) && (anchor === undefined || repo.anchorsOf(path).has(anchor));
    return isThere ? [] : [`${file}: ${address} is not there`];
  });
}

const hasParts = (token: Token): token is Token & { tokens: Token[] } =>
  'tokens' in token && token.tokens !== undefined;

function tokensIn(text: string): Token[] {
  return lexer(text).flatMap(withinOf);
}

function withinOf(token: Token): Token[] {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [...header, ...rows.flat()].flatMap(({ tokens }) => tokens.flatMap(withinOf));
  }
  if (token.type === 'list') return (token as Tokens.List).items.flatMap(withinOf);
  return [token, ...(hasParts(token) ? token.tokens.flatMap(withinOf) : [])];
}

function anchorsIn(text: string): Set<string> {
  const slugger = new GithubSlugger();
  const anchors = new Set<string>();
  for (const token of tokensIn(text)) {
    if (token.type === 'heading') anchors.add(slugger.slug(wordsOf(token)));
    if (token.type === 'html')
      for (const [, id = ''] of token.raw.matchAll(/\b(?:id|name)="([^"]*)"/g)) anchors.add(id);
  }
  return anchors;
}

/** Returns a heading as readers see it, without markup. */
const wordsOf = (token: Token): string =>
  hasParts(token) ? token.tokens.map(wordsOf).join('') : 'text' in token ? unescaped(`${token.text}`) : '';

const unescaped = (text: string): string =>
  text.replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"' })[name] ?? "'",
  );

function brokenTarget(page: string, text: string, target: string, repo: Repo): string[] {
  if (/^https:\/\/[\w-]+(?:\.[\w-]+)+(?:[:/#?]|$)/.test(target)) return [];
  if (/^http:\/\/(?:127\.0\.0\.1|localhost)(?:[:/]|$)/.test(target)) return [];
  if (/^[a-z][a-z+.-]*:|^\/\//i.test(target)) return [`${target} is no https address`];
  const [path = '', anchor] = target.split('#');
  if (path.startsWith('/')) return [`${target} begins at no folder of the repo`];
  const at = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path))).replace(/^\.\/?$/, '');
  if (at.startsWith('..')) return [`${target} leads out of the repo`];
  if (!repo.has(at) && path !== '') return [`${target} is not there`];
  if (anchor === undefined || !at.endsWith('.md')) return [];
  const anchors = at === page ? anchorsIn(text) : repo.anchorsOf(at);
  return anchors.has(anchor) ? [] : [`${target} names no heading of ${at}`];
}

/** Checks words that name a file or folder: from the root, from `src/` for modules, or from the page's own folder. */
function brokenPath(page: string, words: string, repo: Repo): string[] {
  if (!/^[\w.*-]+(?:\/[\w.*-]+)*\/?$/.test(words) || !words.includes('/')) return [];
  const [top = ''] = words.split('/');
  const bases = ['', 'src/', `${dirname(page)}/`];
  if (OPERATORS.has(top) || !bases.some((base) => repo.has(`${base}${top}/`))) return [];
  const isSaidAsFile = /\.\w+$|\/$/.test(words);
  // Pages name tests without `.test.ts`. Other words with a slash are not paths.
  const forms = isSaidAsFile ? [words] : [words, `${words}.test.ts`];
  const isThere = bases.some((base) => forms.some((form) => repo.hasLike(normalize(base + form))));
  return isThere || (!isSaidAsFile && top !== 'test') ? [] : [`\`${words}\` is not there`];
}

/** A folder of operators, for which pages invent file names. */
const OPERATORS: ReadonlySet<string> = new Set(['policies']);
