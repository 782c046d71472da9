import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';

/**
 * Writes `deploy/sbom.cdx.json`, a CycloneDX list of every package that `npm ci --omit=dev` may install on any machine, and the table of
 * licences in `docs/dependencies.md`. Both come only from package-lock.json, without a time or serial number, so the same lock file gives
 * the same bytes. `npm sbom --omit dev` would list only the packages installed here, and leave out packages that development dependencies
 * also need.
 */

const ROOT = join(import.meta.dir, '..');
const SBOM = join(ROOT, 'deploy/sbom.cdx.json');
const PAGE = join(ROOT, 'docs/dependencies.md');

const Names = Type.Optional(Type.Record(Type.String(), Type.String()));
const Entry = Type.Object({
  version: Type.String(),
  license: Type.Optional(Type.String()),
  integrity: Type.Optional(Type.String()),
  dev: Type.Optional(Type.Boolean()),
  optional: Type.Optional(Type.Boolean()),
  os: Type.Optional(Type.Array(Type.String())),
  dependencies: Names,
  optionalDependencies: Names,
  peerDependencies: Names,
});
const Lock = Type.Object({ packages: Type.Record(Type.String(), Entry) });

type Entry = Static<typeof Entry>;
type Packages = Readonly<Record<string, Entry>>;

const MODULES = 'node_modules/';

/** Returns the name of the package at a path of the lock file. */
export const nameAt = (path: string): string => path.slice(path.lastIndexOf(MODULES) + MODULES.length);

const purlOf = (name: string, version: string): string => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** CycloneDX expects an expression for several licences or a choice of licences, and otherwise an identifier. */
function licencesOf(license: string | undefined): readonly object[] {
  if (license === undefined) return [];
  return [/[\s(]/.test(license) ? { expression: license } : { license: { id: license } }];
}

/** Converts a hash from npm's form, `sha512-` and base64, to the form of CycloneDX. @throws Error for another kind of hash */
function hashesOf(integrity: string | undefined): readonly object[] {
  if (integrity === undefined) return [];
  const [kind, digest = ''] = integrity.split('-');
  if (kind !== 'sha512') throw new Error(`package-lock.json has a hash that is not SHA-512: ${integrity}`);
  return [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }];
}

/**
 * Finds the package that the package at `path` requires, as Node does: in the nearest folder up the tree. Returns undefined if there is
 * none.
 */
function foundFrom(path: string, name: string, packages: Packages): string | undefined {
  for (let at = path; ; ) {
    const candidate = `${at === '' ? '' : `${at}/`}${MODULES}${name}`;
    if (packages[candidate]) return candidate;
    if (at === '') return undefined;
    const up = at.lastIndexOf(`/${MODULES}`);
    at = up < 0 ? '' : at.slice(0, up);
  }
}

function dependsOn(path: string, packages: Packages): string[] {
  const entry = packages[path];
  const names = Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies, ...entry?.peerDependencies });
  const found = names.map((name) => foundFrom(path, name, packages));
  const refs = found.flatMap((at) => {
    const needed = at === undefined ? undefined : packages[at];
    return at === undefined || !needed || needed.dev ? [] : [purlOf(nameAt(at), needed.version)];
  });
  return [...new Set(refs)].sort();
}

/**
 * Returns the packages of the bill of materials and their paths.
 * @param lock the parsed package-lock.json
 * @throws Error if `lock` is not a lock file
 */
export const runTimePackages = (lock: unknown): readonly (readonly [path: string, entry: Entry])[] =>
  Object.entries(Value.Parse(Lock, lock).packages).filter(([path, { dev }]) => path !== '' && !dev);

/**
 * Makes the bill of materials.
 * @param lock the parsed package-lock.json
 * @throws Error if `lock` is not a lock file
 */
export function sbomOf(lock: unknown): object {
  const { packages } = Value.Parse(Lock, lock);
  const root = packages[''];
  if (!root) throw new Error('package-lock.json has no entry for the program itself.');
  // The same version of a package may be in several folders. It is one component with the dependencies of all copies.
  const components = new Map<string, object>();
  const needs = new Map<string, Set<string>>();
  for (const [path, entry] of runTimePackages(lock)) {
    const name = nameAt(path);
    const ref = purlOf(name, entry.version);
    components.set(ref, {
      type: 'library',
      'bom-ref': ref,
      name,
      version: entry.version,
      scope: entry.optional ? 'optional' : 'required',
      hashes: hashesOf(entry.integrity),
      licenses: licencesOf(entry.license),
      purl: ref,
    });
    needs.set(ref, new Set([...(needs.get(ref) ?? []), ...dependsOn(path, packages)]));
  }
  const self = `pkg:generic/signalbox@${root.version}`;
  const refs = [...components.keys()].sort();
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': self,
        name: 'signalbox',
        version: root.version,
        licenses: licencesOf(root.license),
        purl: self,
      },
    },
    components: refs.map((ref) => components.get(ref)),
    dependencies: [
      { ref: self, dependsOn: dependsOn('', packages) },
      ...refs.map((ref) => ({ ref, dependsOn: [...(needs.get(ref) ?? [])].sort() })),
    ],
  };
}

const TABLE = /^\| licence .*(?:\n\|.*)*/m;

/**
 * Returns the page with a new table of licences. For each licence it counts the packages for run time and the packages only for
 * development.
 */
export function withLicences(page: string, lock: unknown): string {
  const counts = new Map<string, { run: number; dev: number }>();
  for (const [path, { license = 'not stated', dev }] of Object.entries(Value.Parse(Lock, lock).packages)) {
    if (path === '') continue;
    const count = counts.get(license) ?? { run: 0, dev: 0 };
    if (dev) count.dev += 1;
    else count.run += 1;
    counts.set(license, count);
  }
  const rows = [...counts].sort(([a, x], [b, y]) => y.run - x.run || y.dev - x.dev || (a < b ? -1 : 1));
  const cells = [['licence', 'run time', 'development'], ...rows.map(([id, { run, dev }]) => [id, `${run}`, `${dev}`])];
  const widths = [0, 1, 2].map((at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`);
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`);
  return page.replace(TABLE, () => lines.join('\n'));
}

if (import.meta.main) {
  const lock: unknown = await Bun.file(join(ROOT, 'package-lock.json')).json();
  await Bun.write(SBOM, `${JSON.stringify(sbomOf(lock), null, 2)}\n`);
  await Bun.write(PAGE, withLicences(await Bun.file(PAGE).text(), lock));
  const biome = join(ROOT, 'node_modules/.bin/biome');
  await Bun.spawn([biome, 'format', '--write', SBOM, PAGE], { stdout: 'ignore' }).exited;
  process.stdout.write('Wrote deploy/sbom.cdx.json and the licences in docs/dependencies.md.\n');
}
