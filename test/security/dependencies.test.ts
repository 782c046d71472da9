import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { sbomOf, withLicences } from '../../deploy/sbom.ts';

/** Checks installed packages: exact versions, hashes, install scripts, licences, and the bill of materials. */
const ROOT = join(import.meta.dir, '../..');

const Versions = Type.Record(Type.String(), Type.String());
const Manifest = Type.Object({
  dependencies: Type.Optional(Versions),
  devDependencies: Versions,
  allowScripts: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  scarfSettings: Type.Optional(Type.Object({ enabled: Type.Boolean() })),
});
const Entry = Type.Object({
  version: Type.String(),
  resolved: Type.Optional(Type.String()),
  integrity: Type.Optional(Type.String()),
  license: Type.Optional(Type.String()),
  dev: Type.Optional(Type.Boolean()),
  optional: Type.Optional(Type.Boolean()),
  os: Type.Optional(Type.Array(Type.String())),
  cpu: Type.Optional(Type.Array(Type.String())),
  libc: Type.Optional(Type.Array(Type.String())),
  hasInstallScript: Type.Optional(Type.Boolean()),
});
const Lock = Type.Object({ packages: Type.Record(Type.String(), Type.Unknown()) });
const Bom = Type.Object({
  components: Type.Array(Type.Object({ name: Type.String(), version: Type.String(), purl: Type.String() })),
});
type Entry = Static<typeof Entry>;

const json = async (path: string): Promise<unknown> => Bun.file(join(ROOT, path)).json();
/** Maps each folder that has its own packages to the packages that it requests. */
const FOLDERS = ['.', 'test/system', 'test/deep'] as const;
const installed = await Promise.all(
  FOLDERS.map(async (folder) => ({
    folder,
    asked: Value.Parse(Manifest, await json(`${folder}/package.json`)),
    lock: await json(`${folder}/package-lock.json`),
  })),
);
const { asked: manifest, lock } = installed[0]!;
const scripts: Readonly<Record<string, boolean>> = Object.assign(
  {},
  ...installed.map(({ asked }) => asked.allowScripts),
);
const page = await Bun.file(join(ROOT, 'docs/dependencies.md')).text();

const entriesOf = (text: unknown): readonly (readonly [name: string, entry: Entry])[] =>
  Object.entries(Value.Parse(Lock, text).packages)
    .filter(([path]) => path !== '')
    .map(([path, entry]) => [path.slice(path.lastIndexOf('node_modules/') + 13), Value.Parse(Entry, entry)] as const);
const entries = entriesOf(lock);

const section = (heading: string): string => page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
const rowsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^(?:\||-) (`[^|(]+`)/gm)]
    .flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    .sort();

const LICENCES = new Set([
  'MIT',
  'Apache-2.0',
  'MIT OR Apache-2.0',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'CC0-1.0',
  'Unlicense',
  'PSF-2.0',
  '(MIT OR CC0-1.0)',
  '(AFL-2.1 OR BSD-3-Clause)',
]);
/** Packages whose licence a person has checked: npm cannot read the first, and the second is under MPL-2.0 but only tests run it. */
const READ_BY_HAND = new Set(['memorystream', 'axe-core']);

/** A development binary for another kind of machine. The registry of the locked packages did not have this binary. */
const isForAnotherMachine = ({ dev, optional, os, cpu, libc }: Entry): boolean =>
  Boolean(dev && optional && os && cpu && !(os.includes('linux') && cpu.includes('x64') && !libc?.includes('musl')));

/** The problems of a lock file in words; empty if it may be installed. */
function wrongWith(text: unknown): string[] {
  return entriesOf(text).flatMap(([name, entry]) => [
    ...(/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(entry.version)
      ? []
      : [`${name}: ${entry.version} is not an exact version`]),
    ...(entry.resolved === undefined || entry.resolved.startsWith('https://registry.npmjs.org/')
      ? []
      : [`${name} comes from ${entry.resolved}`]),
    ...(entry.integrity?.startsWith('sha512-') || (entry.integrity === undefined && isForAnotherMachine(entry))
      ? []
      : [`${name} has no hash`]),
    ...(LICENCES.has(entry.license ?? '') || READ_BY_HAND.has(name) ? [] : [`${name}: licence ${entry.license}`]),
    ...(entry.hasInstallScript && !(name in scripts) ? [`${name} has an install script that is not on the page`] : []),
  ]);
}

describe('The lock file', () => {
  test.each(installed)(
    'in $folder has exact versions, hashes, allowed licences, and no address of a private registry',
    (one) => {
      expect(wrongWith(one.lock)).toEqual([]);
    },
  );

  test.each([
    ['version', '^1.0.0', 'is not an exact version'],
    ['resolved', 'http://10.0.0.1:4873/a.tgz', 'comes from'],
    ['integrity', undefined, 'has no hash'],
    ['integrity', 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=', 'has no hash'],
    ['license', 'AGPL-3.0', 'licence AGPL-3.0'],
    ['hasInstallScript', true, 'is not on the page'],
  ])('with another %s is detected', (field, value, said) => {
    const changed = Value.Parse(Lock, structuredClone(lock));
    const path = 'node_modules/elysia';
    changed.packages[path] = { ...Value.Parse(Entry, changed.packages[path]), [field]: value };
    expect(wrongWith(changed)).toEqual([expect.stringContaining(said)]);
  });

  test.each(installed)('$folder requests only exact versions', ({ asked }) => {
    const versions = Object.entries({ ...asked.dependencies, ...asked.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });
});

describe('Install scripts', () => {
  test('are all listed on the page with a judgement, and only Bun’s may run', () => {
    const locked = installed.flatMap((one) => entriesOf(one.lock));
    const withScripts = [...new Set(locked.filter(([, entry]) => entry.hasInstallScript).map(([name]) => name))].sort();
    expect(rowsOf(section('Install scripts'))).toEqual(withScripts);
    expect(Object.keys(scripts).sort()).toEqual(withScripts);
    expect(Object.entries(scripts).flatMap(([name, may]) => (may ? [name] : []))).toEqual(['bun']);
  });

  test('that npm versions without `allowScripts` would run report nothing to other hosts', () => {
    expect(manifest.scarfSettings).toEqual({ enabled: false });
  });
});

describe('The page', () => {
  test('has a row for each package that Signalbox needs at run time, and no other row', () => {
    expect(rowsOf(section('At run time'))).toEqual(Object.keys(manifest.dependencies ?? {}).sort());
  });

  test('counts licences like the lock file (`npm run sbom` writes the counts)', () => {
    const squeezed = (text: string) => text.replace(/ +/g, ' ');
    expect(squeezed(page)).toBe(squeezed(withLicences(page, lock)));
    expect(withLicences(page, { packages: {} })).not.toBe(page);
  });
});

describe('The bill of materials', () => {
  test('lists the run-time packages of the lock file (`npm run sbom` writes it)', async () => {
    const bom = await json('deploy/sbom.cdx.json');
    expect(bom).toEqual(sbomOf(lock));
    const listed = Value.Parse(Bom, bom).components.map(({ name, version }) => `${name}@${version}`);
    const served = entries.filter(([, entry]) => !entry.dev).map(([name, { version }]) => `${name}@${version}`);
    expect(new Set(listed)).toEqual(new Set(served));
    expect(listed).toHaveLength(new Set(served).size);
    for (const [name, version] of Object.entries(manifest.dependencies ?? {}))
      expect(listed).toContain(`${name}@${version}`);
  });

  test.each(['version', 'integrity', 'license'])('of a lock file with another %s differs', (field) => {
    const changed = Value.Parse(Lock, structuredClone(lock));
    const value = field === 'integrity' ? 'sha512-AAAA' : '9.9.9';
    changed.packages['node_modules/yaml'] = { ...Object(changed.packages['node_modules/yaml']), [field]: value };
    expect(sbomOf(changed)).not.toEqual(sbomOf(lock));
  });
});
