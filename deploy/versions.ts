import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ROOT } from './program.ts';

/**
 * `npm run versions -- 0.3.0-dev` writes a version into every file that states it. `npm run sbom` writes it into the bill of materials, and
 * a release into `CHANGELOG.md`.
 */

/** The files that state the version, and where. Each pattern matches only the version. */
export const PLACES: Readonly<Record<string, RegExp>> = {
  Dockerfile: /(?<=org\.opencontainers\.image\.version=")[^"]+/g,
  'compose.yaml': /(?<=image: signalbox:)\S+/g,
  'deploy/compose/compose.yaml': /(?<=image: signalbox:)\S+/g,
  'deploy/kubernetes/kustomization.yaml': /(?<=name: signalbox, newTag: )[^\s}]+/g,
  'deploy/kubernetes/postgresql/kustomization.yaml': /(?<=name: signalbox, newTag: )[^\s}]+/g,
  'deploy/helm/signalbox/Chart.yaml': /(?<=^(?:version|appVersion): )\S+/gm,
  'docs/operate/deploy.md': /(?<=\bsignalbox:)\d[\w.-]*|\d[\w.-]*(?=\+7e7a9e75)/g,
  'src/admin/status.ts': /\d[\w.-]*(?=\+7e7a9e75)/g,
};

const Manifest = Type.Object({ version: Type.String() });
const Lock = Type.Object({ version: Type.String(), packages: Type.Object({ '': Manifest }) });

/**
 * @param root the folder of the sources
 * @param version such as `0.3.0-dev`
 * @throws Error if a file does not state a version where it should; then no file is changed
 */
export function setVersion(root: string, version: string): void {
  const texts = Object.entries(PLACES).map(([file, pattern]) => {
    const before = readFileSync(join(root, file), 'utf8');
    if (before.match(pattern) === null) throw new Error(`${file} states no version that matches ${pattern}.`);
    return [file, before.replace(pattern, version)] as const;
  });
  const manifest = read(root, 'package.json', Manifest);
  manifest.version = version;
  const lock = read(root, 'package-lock.json', Lock);
  lock.version = version;
  lock.packages[''].version = version;
  for (const [file, text] of texts) writeFileSync(join(root, file), text);
  write(root, 'package.json', manifest);
  write(root, 'package-lock.json', lock);
}

/** Returns the version of the sources in a folder. */
export const versionOf = (root: string): string => read(root, 'package.json', Manifest).version;

/** Keeps the members that the schema does not name. */
const read = <S extends TSchema>(root: string, file: string, schema: S): Static<S> =>
  Value.Parse(['Assert'], schema, JSON.parse(readFileSync(join(root, file), 'utf8')));

/** In the form in which npm writes its files. */
const write = (root: string, file: string, content: object): void =>
  writeFileSync(join(root, file), `${JSON.stringify(content, null, 2)}\n`);

/** A version of semantic versioning, without the build. */
export const VERSION = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;

if (import.meta.main) {
  const [version = ''] = process.argv.slice(2);
  if (!VERSION.test(version)) {
    process.stderr.write('versions: Name the version: npm run versions -- 0.3.0-dev\n');
    process.exit(1);
  }
  setVersion(ROOT, version);
}
