import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { type PackageVersions, readVersions } from '../versions.ts';

/** A single npm package has all clients. */
const PROJECT = 'clients';

/** The program of each client. */
const PROGRAMS: Readonly<Record<string, string>> = {
  '@google/genai': 'google-genai.mjs',
  '@google/gemini-cli': 'gemini-cli.mjs',
  '@continuedev/openai-adapters': 'continue.mjs',
};

function writePackage(folder: string, dependencies: PackageVersions): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
}

const npm = (folder: string, ...more: readonly string[]) => ({
  command: ['npm', ...more, '--silent', '--no-audit', '--no-fund'],
  cwd: folder,
});

/** Clients in JavaScript that the other tests, which run in Bun, cannot load: programs, and libraries with one version for all. */
export const javascript: ClientLanguage = {
  name: 'JavaScript',
  tools: ['node', 'npm'],
  page: 'docs/clients/gemini.md',
  fence: 'js',
  clients: Object.keys(PROGRAMS).map((name) => ({ name, project: PROJECT })),

  async install(folder, projects) {
    cpSync(import.meta.dir, folder, { recursive: true });
    writePackage(folder, projects[PROJECT] ?? {});
    await runWell(npm(folder, 'install', `--before=${readVersions().asOf}`));
  },

  command: (folder, { name }) => ({ command: ['node', join(folder, PROGRAMS[name] ?? '')], cwd: folder }),

  async snippet(folder, text, at) {
    const file = join(folder, `block-${at}.mjs`);
    writeFileSync(file, text);
    return { command: ['node', file], cwd: folder };
  },

  async newest(packages, folder) {
    mkdirSync(folder, { recursive: true });
    writePackage(folder, Object.fromEntries(packages.map((name) => [name, 'latest'])));
    await runWell(npm(folder, 'install', '--package-lock-only'));
    const { packages: found }: { packages: Readonly<Record<string, { version: string }>> } = JSON.parse(
      await Bun.file(join(folder, 'package-lock.json')).text(),
    );
    return Object.fromEntries(packages.map((name) => [name, found[`node_modules/${name}`]?.version ?? '']));
  },
};
