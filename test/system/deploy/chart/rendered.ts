import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

/**
 * What Helm makes of the chart with some values. `npm run test:deep -- chart` runs Helm and compares its output with the files here, and
 * with `UPDATE=1` writes them; the other tests read them, because Helm is not a package of npm.
 */
const ROOT = join(import.meta.dir, '../../../..');
export const CHART = join(ROOT, 'deploy/helm/signalbox');

/** The files of values for each file of rendered manifests. */
export const RENDERINGS: Readonly<Record<string, readonly string[]>> = {
  'one-server': [],
  files: [join(import.meta.dir, 'files.values.yaml')],
  company: [join(ROOT, 'deploy/helm/company.yaml')],
};

export const renderedFile = (name: string): string => join(import.meta.dir, `${name}.rendered.yaml`);

/** Rendered files state this in place of the version, so that a new version of Signalbox changes none of them. */
export const NO_VERSION = '0.0.0-version';

/** Replaces the version of the chart. */
export function withoutVersion(text: string): string {
  const { version } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8'));
  return text.replaceAll(String(version), NO_VERSION);
}

/** Returns a hash of the chart and of the values, which the first line of a rendered file states. */
export function chartHash(name: string): string {
  const files = readdirSync(CHART, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
  const hasher = new Bun.CryptoHasher('sha256');
  for (const file of [...files.sort(), ...(RENDERINGS[name] ?? [])])
    hasher.update(withoutVersion(readFileSync(file, 'utf8'))).update('\0');
  return hasher.digest('hex').slice(0, 16);
}

/** Returns the rendered manifests by kind; for tests alone, which say themselves what they expect in them. */
// biome-ignore lint/suspicious/noExplicitAny: the schema checker says what it is.
export function manifestsOf(name: string): Readonly<Record<string, any>> {
  const documents = parseAllDocuments(readFileSync(renderedFile(name), 'utf8')).map((document) => document.toJS());
  return Object.fromEntries(documents.filter(Boolean).map((manifest) => [manifest.kind, manifest]));
}
