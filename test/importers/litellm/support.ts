import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ImportResult, importLitellm, NotIncluded } from '../../../src/importers/litellm/litellm.ts';
import { rehearsed } from '../../policy/rehearsal.ts';

export const CONFIGS = join(import.meta.dir, 'configs');
/** Configurations that import without a problem. */
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

/** A fixed catalog, independent of the shipped one. */
const CATALOG = readFileSync(join(import.meta.dir, 'catalog.yaml'), 'utf8');

type PriceMap = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** @param files the files that the configuration includes */
export const imported = (
  text: string,
  priceMap: PriceMap = new Map(),
  files: Readonly<Record<string, string>> = {},
): ImportResult =>
  importLitellm(text, {
    name: 'config.yaml',
    catalog: CATALOG,
    priceMap,
    today: '2026-11-20',
    include: (name) => {
      const found = files[name];
      if (found === undefined) throw new NotIncluded('the file does not exist or cannot be read');
      return found;
    },
  });

/** Errors in files, as if every variable were set. A warning carries the word after its position. */
export const errorsIn = (files: ImportResult['files']): string[] =>
  rehearsed(
    files.map(({ name, text }) => ({ path: name, text })),
    () => 'http://127.0.0.1:9/v1',
  ).match(/^\S+:\d+:\d+ {2}(?!warning).*/gm) ?? [];
