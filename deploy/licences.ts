import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ROOT } from './program.ts';
import { nameAt, runTimePackages } from './sbom.ts';

/** The file with the licence texts of all bundled packages. Most licences require that copies of the code come with their text. */
export const LICENCES_FILE = 'THIRD-PARTY-LICENSES';

/** Such as `LICENSE`, `license-mit`, `NOTICE.txt` and `swagger-ui-bundle.js.LICENSE.txt`. */
const LICENCE_NAME = /\b(?:licen[cs]e|notice|copying)\b/i;
const Manifest = Type.Object({ repository: Type.Union([Type.String(), Type.Object({ url: Type.String() })]) });
const HEAD = 'Signalbox uses these packages of other authors. Each text applies to the packages above it.\n';
const LINE = `\n${'-'.repeat(80)}\n\n`;

/**
 * Returns the content of the file: each text once, after all packages that have it. The same lock file gives the same bytes.
 * @throws Error if a package is not installed, states no licence, or has neither a licence file nor a repository
 */
export function thirdPartyLicences(): string {
  const lock: unknown = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const packages = runTimePackages(lock).flatMap(([path, { version, license, os }]) => {
    // A package for certain platforms is a program, which no build bundles: Bun or the TypeScript compiler.
    if (os) return [];
    if (!license) throw new Error(`package-lock.json states no licence for ${path}.`);
    return licenceTexts(path).map((text) => ({ name: `${nameAt(path)} ${version}: ${license}`, text }));
  });
  const sections = [...Map.groupBy(packages, ({ text }) => text)].map(([text, users]) => {
    const names = new Set(users.map(({ name }) => name));
    return `${[...names].sort().join('\n')}\n\n${text}\n`;
  });
  return [HEAD, ...sections.sort()].join(LINE);
}

/** Returns the licences and notices of an installed package, or a text that names its repository. */
function licenceTexts(path: string): readonly string[] {
  const folder = join(ROOT, path);
  const texts = readdirSync(folder)
    .filter((name) => LICENCE_NAME.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
    .filter((text) => text !== '');
  if (texts.length > 0) return texts;
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!Value.Check(Manifest, manifest)) throw new Error(`${path} has neither a licence file nor a repository.`);
  const { repository } = manifest;
  const url = typeof repository === 'string' ? repository : repository.url;
  return [`The package has no licence file. Repository: ${url}`];
}
