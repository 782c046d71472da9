import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { type Projects, readVersions } from '../versions.ts';

/** Each client with the project that installs it. The summary shows the client's name, and its program has the same name. */
const CLIENTS = [
  { name: 'openai', project: 'common' },
  { name: 'anthropic', project: 'common' },
  { name: 'langchain-openai', project: 'common' },
  { name: 'langchain-anthropic', project: 'common' },
  { name: 'langgraph', project: 'common' },
  { name: 'pydantic-ai-slim[openai]', project: 'common' },
  { name: 'google-genai', project: 'common' },
  { name: 'langchain-google-genai', project: 'google' },
  { name: 'google-adk', project: 'google' },
  { name: 'instructor', project: 'instructor' },
  { name: 'openai-agents', project: 'common' },
  { name: 'litellm', project: 'common' },
  { name: 'dspy', project: 'common' },
  { name: 'llama-index-core', project: 'openai-2' },
  { name: 'haystack-ai', project: 'common' },
  { name: 'smolagents[openai]', project: 'common' },
  { name: 'crewai', project: 'openai-2' },
  { name: 'autogen-agentchat', project: 'common' },
  { name: 'inspect-ai', project: 'common' },
  { name: 'llm', project: 'common' },
  { name: 'aider-chat', project: 'aider' },
] as const;

const uvIn = (folder: string) => join(folder, 'uv/bin/uv');
export const pythonOf = (folder: string, project: string) => join(folder, project, 'bin/python');
/** Returns a package name without extras: `smolagents` for `smolagents[openai]`. */
const nameOf = (client: string) => client.replace(/\[.*/, '');
const programOf = (client: string) => join(import.meta.dir, `${nameOf(client).replaceAll('-', '_')}_checks.py`);

/** Installs uv, which is fast and can ignore packages published after a given time. This pins indirect dependencies, too. */
async function installUv(folder: string, version?: string): Promise<void> {
  await runWell({ command: ['python3', '-m', 'venv', join(folder, 'uv')] });
  const uv = version === undefined ? 'uv' : `uv==${version}`;
  await runWell({ command: [pythonOf(folder, 'uv'), '-m', 'pip', 'install', '--quiet', uv] });
}

/** Installs projects of `versions.json`, each into its own virtual environment. */
export async function installPython(folder: string, projects: Projects, names: Iterable<string>): Promise<void> {
  await installUv(folder, projects.uv?.uv);
  for (const name of names) {
    const pinned = Object.entries(projects[name] ?? {}).map(([each, version]) => `${each}==${version}`);
    await runWell({ command: [uvIn(folder), 'venv', '--quiet', '--python', 'python3', join(folder, name)] });
    await runWell({
      command: [
        ...[uvIn(folder), 'pip', 'install', '--quiet', '--python', pythonOf(folder, name)],
        ...['--exclude-newer', readVersions().asOf, ...pinned],
      ],
    });
  }
}

export const python: ClientLanguage = {
  name: 'Python',
  tools: ['python3'],
  page: 'docs/clients/python.md',
  fence: 'python',
  clients: CLIENTS,

  install: (folder, projects, clients) =>
    installPython(folder, projects, new Set(clients.map(({ project }) => project))),

  command: (folder, { name, project }) => ({
    command: [pythonOf(folder, project), programOf(name)],
    cwd: folder,
    env: { PYTHONPATH: import.meta.dir, PYTHONDONTWRITEBYTECODE: '1' },
  }),

  async snippet(folder, text, at) {
    const fileAt = (block: number) => join(folder, `block-${block}.py`);
    const file = fileAt(at);
    // All later blocks of the page use the client of the first block.
    writeFileSync(file, at === 0 ? text : readFileSync(fileAt(0), 'utf8') + text);
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
    return Object.fromEntries(packages.map((name) => [name, found.get(nameOf(name)) ?? '']));
  },
};
