import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Imported, importLitellm, NotIncluded } from '../../../src/importers/litellm/litellm.ts';
import { rehearsed } from '../../policy/rehearsal.ts';

export const CONFIGS = join(import.meta.dir, 'configs');
/** Names that every import ends well for. */
export const GOOD = [
  ...[
    'quickstart',
    'load-balanced',
    'fallbacks',
    'budgets',
    'self-hosted',
    'wildcards-and-credentials',
    'kitchen-sink',
  ],
] as const;

export const configuration = (name: string): string => readFileSync(join(CONFIGS, `${name}.yaml`), 'utf8');

/** A catalog that does not change with the shipped one. */
const CATALOG = readFileSync(join(import.meta.dir, 'catalog.yaml'), 'utf8');

type PriceMap = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** `files` are those beside the configuration. */
export const imported = (
  text: string,
  priceMap: PriceMap = new Map(),
  files: Readonly<Record<string, string>> = {},
): Imported =>
  importLitellm(text, {
    name: 'config.yaml',
    catalog: CATALOG,
    priceMap,
    today: '2026-11-20',
    include: (name) => {
      const found = files[name];
      if (found === undefined) throw new NotIncluded('there is no such file that can be read');
      return found;
    },
  });

/** Lines of what is wrong with files as if every variable were set. A warning says so after its place, an error does not. */
export const errorsIn = (files: Imported['files']): string[] =>
  rehearsed(
    files.map(({ name, text }) => ({ path: name, text })),
    () => 'http://127.0.0.1:9/v1',
  ).match(/^\S+:\d+:\d+ {2}(?!warning).*/gm) ?? [];
