import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientCommand, ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { programWith } from '../snippets.ts';
import type { PackageVersions } from '../versions.ts';

/** A single Rust package has all clients. The program of a client has the name of its crate. */
const PROJECT = 'clients';
const CLIENTS = ['async-openai', 'rig-core'];

/** The features that the programs and the page need. All features would double the build time. */
const FEATURES: Readonly<Record<string, readonly string[]>> = {
  'async-openai': ['chat-completion', 'embedding', 'model', 'responses', 'byot'],
  'rig-core': ['reqwest'],
  serde: ['derive'],
  tokio: ['macros', 'rt-multi-thread'],
  uuid: ['v4'],
};

/** The exact versions of all dependencies. `newest` writes this file. */
const LOCK = join(import.meta.dir, 'Cargo.lock');

const manifest = (packages: PackageVersions): string => `[package]
name = "${PROJECT}"
version = "0.0.0"
edition = "2024"

[profile.dev]
debug = false

[dependencies]
${Object.entries(packages)
  .map(([name, version]) => `${name} = { version = "${version}", features = ${JSON.stringify(FEATURES[name] ?? [])} }`)
  .join('\n')}
`;

const cargo = (folder: string, ...command: readonly string[]): ClientCommand => ({
  command: ['cargo', ...command, '--quiet'],
  cwd: folder,
  env: { CARGO_HOME: join(folder, 'home'), CARGO_TARGET_DIR: join(folder, 'target') },
});

export const rust: ClientLanguage = {
  name: 'Rust',
  tools: ['cargo', 'cc'],
  page: 'docs/clients/rust.md',
  fence: 'rust',
  clients: CLIENTS.map((name) => ({ name, project: PROJECT })),

  async install(folder, projects) {
    cpSync(import.meta.dir, folder, { recursive: true });
    const exact = Object.entries(projects[PROJECT] ?? {}).map(([name, version]) => [name, `=${version}`]);
    writeFileSync(join(folder, 'Cargo.toml'), manifest(Object.fromEntries(exact)));
    await runWell(cargo(folder, 'build', '--locked', '--bins'), 1_800_000);
  },

  command: (folder, { name }) => ({ command: [join(folder, 'target/debug', name)] }),

  async snippet(folder, text, at) {
    const fileOf = (block: number) => join(folder, `src/bin/block-${block}.rs`);
    writeFileSync(fileOf(at), at === 0 ? text : programWith(readFileSync(fileOf(0), 'utf8'), text, 'Ok(())\n}'));
    await runWell(cargo(folder, 'build', '--locked', '--bin', `block-${at}`));
    return { command: [join(folder, `target/debug/block-${at}`)] };
  },

  async newest(packages, folder) {
    cpSync(join(import.meta.dir, 'src'), join(folder, 'src'), { recursive: true });
    writeFileSync(join(folder, 'Cargo.toml'), manifest(Object.fromEntries(packages.map((name) => [name, '*']))));
    await runWell(cargo(folder, 'generate-lockfile'));
    copyFileSync(join(folder, 'Cargo.lock'), LOCK);
    const tree = await runWell(cargo(folder, 'tree', '--depth', '1', '--prefix', 'none', '--format', '{p}'));
    const found = new Map(tree.split('\n').map((line) => line.split(' v') as [string, string]));
    return Object.fromEntries(packages.map((name) => [name, found.get(name)?.split(' ')[0] ?? '']));
  },
};
