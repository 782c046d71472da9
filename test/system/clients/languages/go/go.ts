import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientCommand, ClientLanguage } from '../language.ts';
import { runWell } from '../runs.ts';
import { programWith } from '../snippets.ts';

/** A single Go module has all clients. */
const PROJECT = 'clients';

/** The packages of the clients' programs, under the module name that the summary shows. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'github.com/openai/openai-go/v3': 'openai',
  'github.com/anthropics/anthropic-sdk-go/v2': 'anthropic',
  'github.com/sashabaranov/go-openai': 'go_openai',
  'github.com/tmc/langchaingo': 'langchaingo',
  'google.golang.org/genai': 'genai',
};

/** The imports that `goimports` would add to the blocks of the page. */
const IMPORTS: readonly string[] = [
  'context',
  'crypto/rand',
  'encoding/json',
  'errors',
  'fmt',
  'net/http',
  'os',
  'time',
  'github.com/openai/openai-go/v3',
  'github.com/openai/openai-go/v3/option',
  'github.com/anthropics/anthropic-sdk-go/v2',
];

/** Returns the name under which a file uses a package. */
const nameOf = (path: string): string =>
  path
    .match(/(\w+)-go(\/v\d+)?$|(\w+)-sdk-go(\/v\d+)?$/)
    ?.slice(1)
    .find(Boolean) ?? (path.split('/').at(-1) as string);

const goIn = (folder: string, ...command: readonly string[]): ClientCommand => ({
  command: ['go', ...command],
  cwd: folder,
  env: {
    GOPATH: join(folder, 'path'),
    GOMODCACHE: join(folder, 'path/modules'),
    GOCACHE: join(folder, 'path/cache'),
    // Without the first flag, the folder cannot be deleted. With the second flag, go.mod need not list all indirect modules.
    GOFLAGS: '-modcacherw -mod=mod',
  },
});

async function getModules(folder: string, modules: readonly string[]): Promise<void> {
  await runWell(goIn(folder, 'mod', 'init', PROJECT));
  await runWell(goIn(folder, 'get', ...modules));
}

export const go: ClientLanguage = {
  name: 'Go',
  tools: ['go'],
  page: 'docs/clients/go.md',
  fence: 'go',
  clients: Object.keys(PROGRAMS).map((name) => ({ name, project: PROJECT })),

  async install(folder, projects, clients) {
    cpSync(import.meta.dir, folder, { recursive: true });
    const modules = Object.entries(projects[PROJECT] ?? {}).map(([name, version]) => `${name}@${version}`);
    await getModules(folder, modules);
    const programs = clients.map(({ name }) => `./${PROGRAMS[name]}`);
    // All programs share one build, because most of it is the compilation of the same packages.
    await runWell(goIn(folder, 'build', '-o', 'bin/', ...programs), 1_800_000);
  },

  command: (folder, { name }) => ({ command: [join(folder, 'bin', PROGRAMS[name] ?? '')] }),

  async snippet(folder, text, at) {
    const fileOf = (block: number) => join(folder, `block_${block}/main.go`);
    mkdirSync(join(folder, `block_${at}`));
    const program = () => programWith(readFileSync(fileOf(0), 'utf8'), `func main() {\n${text}`, '}');
    writeFileSync(fileOf(at), at === 0 ? text : withImports(program()));
    await runWell(goIn(folder, 'build', '-o', 'bin/', `./block_${at}`));
    return { command: [join(folder, `bin/block_${at}`)] };
  },

  async newest(packages, folder) {
    await getModules(
      folder,
      packages.map((name) => `${name}@latest`),
    );
    const listed = await runWell(goIn(folder, 'list', '-m', '-f', '{{.Path}} {{.Version}}', ...packages));
    return Object.fromEntries(
      listed
        .trim()
        .split('\n')
        .map((line) => line.split(' ') as [string, string]),
    );
  },
};

function withImports(program: string): string {
  const body = program.replace(/^import \([^)]*\)/m, '');
  const used = IMPORTS.filter((path) => new RegExp(`\\b${nameOf(path)}\\.[A-Z]`).test(body));
  return body.replace(
    /^package main$/m,
    `package main\n\nimport (\n${used.map((path) => `\t"${path}"`).join('\n')}\n)`,
  );
}
