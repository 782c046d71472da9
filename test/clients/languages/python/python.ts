import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { readVersions } from '../versions.ts';

const uvIn = (folder: string) => join(folder, 'uv/bin/uv');
const pythonOf = (folder: string, project: string) => join(folder, project, 'bin/python');
const programOf = (client: string) => join(import.meta.dir, `${client.replaceAll('-', '_')}_checks.py`);

/** uv installs quickly, and leaves out packages that are newer than a given time, so that dependencies are pinned, too. */
async function installUv(folder: string, version?: string): Promise<void> {
  await runWell({ command: ['python3', '-m', 'venv', join(folder, 'uv')] });
  const uv = version === undefined ? 'uv' : `uv==${version}`;
  await runWell({ command: [pythonOf(folder, 'uv'), '-m', 'pip', 'install', '--quiet', uv] });
}

export const python: ClientLanguage = {
  name: 'Python',
  tools: ['python3'],
  page: 'docs/clients/python.md',
  fence: 'python',
  clients: [{ name: 'openai', project: 'common' }],

  async install(folder, { uv, ...projects }) {
    await installUv(folder, uv?.uv);
    for (const [project, packages] of Object.entries(projects)) {
      const pinned = Object.entries(packages).map(([name, version]) => `${name}==${version}`);
      await runWell({ command: [uvIn(folder), 'venv', '--quiet', '--python', 'python3', join(folder, project)] });
      await runWell({
        command: [
          ...[uvIn(folder), 'pip', 'install', '--quiet', '--python', pythonOf(folder, project)],
          ...['--exclude-newer', readVersions().asOf, ...pinned],
        ],
      });
    }
  },

  command: (folder, { name, project }) => ({
    command: [pythonOf(folder, project), programOf(name)],
    cwd: folder,
    env: { PYTHONPATH: import.meta.dir, PYTHONDONTWRITEBYTECODE: '1' },
  }),

  async snippet(folder, text, at) {
    const file = join(folder, `block-${at}.py`);
    writeFileSync(file, text);
    return { command: [pythonOf(folder, 'common'), file], cwd: folder };
  },

  async newest(packages, folder) {
    await installUv(folder);
    const file = join(folder, 'packages.txt');
    writeFileSync(file, packages.join('\n'));
    const listed = await runWell({
      command: [uvIn(folder), 'pip', 'compile', '--quiet', '--no-annotate', '--no-header', file],
    });
    const found = new Map(
      listed.split('\n').map((line) => line.split(/\[.*\]|==/).filter(Boolean) as [string, string]),
    );
    return Object.fromEntries(packages.map((name) => [name, found.get(name.replace(/\[.*/, '')) ?? '']));
  },
};
