import { createRequire } from 'node:module';
import * as linguist from 'linguist-languages';

/** Data and configuration languages that people request code in, or ask about as they do about code. */
const DATA_KEPT: ReadonlySet<string> = new Set([
  'ABNF',
  'ASN.1',
  'ApacheConf',
  'CSV',
  'Caddyfile',
  'EBNF',
  'Gradle',
  'Gradle Kotlin DSL',
  'GraphQL',
  'Graphviz (DOT)',
  'HAProxy',
  'HOCON',
  'INI',
  'JSON',
  'JSON with Comments',
  'JSON5',
  'JSONLD',
  'Java Properties',
  'KDL',
  'Kusto',
  'Maven POM',
  'Nginx',
  'Ninja',
  'PlantUML',
  'Prisma',
  'Protocol Buffer',
  'Pure Data',
  'Regular Expression',
  'SPARQL',
  'SQL',
  'SVG',
  'TOML',
  'TSV',
  'Turtle',
  'Web Ontology Language',
  'XML',
  'YAML',
  'YANG',
  'crontab',
  'edn',
]);

/** Markup for human readers: a text in one of these languages is not code. */
const DOCUMENTS: ReadonlySet<string> = new Set(['TeX', 'Mermaid', 'Rich Text Format', 'Roff']);
/** Languages that Linguist calls data although programs execute them. */
const QUERIES: ReadonlySet<string> = new Set([
  'GraphQL',
  'Kusto',
  'Prisma',
  'Protocol Buffer',
  'SPARQL',
  'SQL',
  'YAML',
]);

const WIDTH = 120;

export interface LinguistEntry {
  /** Names in lower case, the language's own name first. */
  readonly names: readonly string[];
  /** Whether a text in the language is data or a document rather than code. */
  readonly isData: boolean;
}

/** Returns the languages of Linguist that a policy or a request may name, by name. */
export function linguistEntries(): readonly LinguistEntry[] {
  return Object.values(linguist)
    .filter(({ name, type }) => type === 'programming' || type === 'markup' || DATA_KEPT.has(name))
    .map((language) => ({
      names: namesOf(language.name, 'aliases' in language ? language.aliases : []),
      isData: DOCUMENTS.has(language.name) || (language.type === 'data' && !QUERIES.has(language.name)),
    }))
    .sort((a, b) => (a.names[0]! < b.names[0]! ? -1 : 1));
}

function namesOf(name: string, aliases: readonly string[]): readonly string[] {
  const plain = [name, ...aliases].map((one) => one.toLowerCase().replace(/\s+/g, ' '));
  return [...new Set(plain)];
}

/** The package does not export its package.json, so the function looks next to its entry file. */
export async function linguistVersion(): Promise<string> {
  const entry = createRequire(import.meta.url).resolve('linguist-languages');
  const { version } = await Bun.file(new URL('package.json', `file://${entry}`)).json();
  return String(version);
}

/** Returns the expected content of `src/core/request/linguist.ts`. */
export async function linguistTable(): Promise<string> {
  const rows = linguistEntries().map(({ names, isData }) => `${isData ? '=' : ''}${names.join('|')};`);
  const lines: string[] = [];
  for (const row of rows) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + row.length <= WIDTH) lines[lines.length - 1] = last + row;
    else lines.push(row);
  }
  return `/**
 * Names and aliases of languages from GitHub's Linguist (MIT), taken from the package linguist-languages ${await linguistVersion()}, in lower case. Each entry
 * ends with \`;\` and begins with the language's own name; \`=\` at the beginning marks data or documents. Generated: \`UPDATE=1 bun test
 * test/system/core/languages.test.ts\` writes it. The package is a development dependency only, because its import takes 80 to 260 ms.
 */
export const LINGUIST = \`
${lines.join('\n')}
\`;
`;
}
