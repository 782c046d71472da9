import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Versions by package name in the registry. */
export type PackageVersions = Readonly<Record<string, string>>;
/** Packages that are installed together, by project name. */
export type Projects = Readonly<Record<string, PackageVersions>>;

/** The clients that `npm run test:deep -- clients` runs. `npm run clients:update` writes the newest versions. */
export interface ClientVersions {
  /** The date of the versions, ISO 8601. Dependencies that were published later are not installed. */
  readonly asOf: string;
  readonly languages: Readonly<Record<string, Projects>>;
}

const FILE = join(import.meta.dir, 'versions.json');

export const readVersions = (): ClientVersions => JSON.parse(readFileSync(FILE, 'utf8')) as ClientVersions;

export const writeVersions = (versions: ClientVersions): void =>
  writeFileSync(FILE, `${JSON.stringify(versions, null, 2)}\n`);
