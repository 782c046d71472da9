import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { buildProgram, PROGRAMS } from './build.ts';
import { buildPackage } from './package.ts';
import { commitHere, ROOT } from './program.ts';

/**
 * `npm run distribution` builds all files of a release in `dist/VERSION`: the package for npm, the programs and the licence texts of their
 * packages, the Helm chart, the files to deploy with, the bill of materials, and `SHA256SUMS`. `--out` names another folder, and `--commit`
 * the commit of sources without a clone.
 */

/** Folders and files that an installation needs. Their archive has the paths of the sources, so the pages show the same commands for both. */
const DEPLOYED = [
  'CHANGELOG.md',
  'LICENSE',
  'deploy/alerts.yaml',
  'deploy/grafana/provisioning',
  'deploy/grafana/signalbox.json',
  'deploy/helm/company.yaml',
  'deploy/prometheus.yaml',
  'deploy/systemd',
];

/**
 * Builds all files of a release.
 * @param out the folder, which loses its former content
 * @param commit the first digits of the commit, empty if it is not known
 * @returns the names of the files
 */
async function distribute(out: string, commit: string): Promise<readonly string[]> {
  const { version } = manifest;
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  await buildPackage(out, commit);
  // Without bytecode, every machine builds the same bytes.
  for (const target of PROGRAMS) await buildProgram(join(out, `signalbox-${version}-${target}`), target, commit);
  // In the form that `helm install` reads.
  await archive(join(out, `signalbox-chart-${version}.tgz`), 'deploy/helm', ['signalbox']);
  await archive(join(out, `signalbox-deploy-${version}.tgz`), '.', DEPLOYED);
  cpSync(join(ROOT, 'deploy/sbom.cdx.json'), join(out, `signalbox-${version}.cdx.json`));
  const names = readdirSync(out, { withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));
  names.sort();
  writeFileSync(join(out, 'SHA256SUMS'), names.map((name) => `${sha256(join(out, name))}  ${name}\n`).join(''));
  return [...names, 'SHA256SUMS'];
}

/** Writes an archive of files, and of all files in folders, with their paths from a folder of the sources. */
async function archive(to: string, from: string, paths: readonly string[]): Promise<void> {
  const home = join(ROOT, from);
  const files = paths.flatMap((path) => filesIn(join(home, path)));
  const content = files.sort().map((file) => [relative(home, file), readFileSync(file)] as const);
  await Bun.Archive.write(to, Object.fromEntries(content), { compress: 'gzip' });
}

const filesIn = (path: string): readonly string[] =>
  statSync(path).isFile() ? [path] : readdirSync(path).flatMap((name) => filesIn(join(path, name)));

const sha256 = (file: string): string => new Bun.CryptoHasher('sha256').update(readFileSync(file)).digest('hex');

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { out: text, commit: text } });
const out = resolve(values.out ?? join(ROOT, 'dist', manifest.version));
const names = await distribute(out, values.commit?.slice(0, 8) || commitHere());
process.stdout.write(`${relative(process.cwd(), out)}: ${names.join(', ')}\n`);
