import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../gateways.ts';
import { type Program, startSilent } from '../process.ts';
import { installOnce, runInstaller } from './installed.ts';

const VERSION = '1.108.7';
/** The hashes of LiteLLM's wheels for Linux, on x86-64 and on ARM. */
const SHA256 = [
  '0c8a062e285b793b110a44bae485a2beb83c21381a9e4c62001547f296b0e5af',
  'a277aff1f051370b5990c4f1d2fa5710b996e8d8a3f53fa056f69bcd61270808',
];
/** No package is built on this machine, so no package runs code when it is installed. */
const INSTALL = ['-m', 'pip', 'install', '--quiet', '--only-binary=:all:'];

export interface LiteLlm {
  /** The version, such as "LiteLLM 1.108.7", and its Python. */
  readonly version: string;
  /**
   * Starts the proxy of LiteLLM with one worker. The proxy knows only one model and one key, because its own keys and budgets need a
   * database engine that it downloads.
   * @param upstream base URL of the model's provider. @param key the master key; it begins with `sk-`
   */
  start(upstream: string, model: string, key: string): Promise<Program>;
}

/** @param home the folder for installations @throws Error if LiteLLM cannot be installed */
export async function installLiteLlm(home: string): Promise<LiteLlm> {
  const base = Bun.which('python3');
  if (!base) throw new Error('there is no `python3` in PATH');
  const folder = join(home, `litellm-${VERSION}`);
  await installOnce(folder, (draft) => install(base, draft));
  const python = join(folder, 'bin/python');
  return {
    version: `LiteLLM ${VERSION} (${Bun.spawnSync([python, '--version']).stdout.toString().trim()})`,
    start(upstream, model, key) {
      const config = join(temporaryFolder(), 'config.yaml');
      const service = { model: 'openai/bench-model-upstream', api_base: upstream, api_key: 'none' };
      const models = [{ model_name: model, litellm_params: service }];
      // JSON is YAML.
      writeFileSync(config, JSON.stringify({ model_list: models, general_settings: { master_key: key } }));
      return startSilent(
        // LiteLLM's script is not used, because its first line names the interpreter of the draft folder.
        (port) => [python, join(folder, 'bin/litellm'), '--config', config, '--host', '127.0.0.1', '--port', `${port}`],
        { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_MODE: 'PRODUCTION' },
        '/health/liveliness',
      );
    },
  };
}

async function install(base: string, folder: string): Promise<void> {
  const [python, wanted] = [join(folder, 'bin/python'), join(folder, 'requirements.txt')];
  await runInstaller([base, '-m', 'venv', folder], folder);
  writeFileSync(wanted, [`litellm==${VERSION}`, ...SHA256.map((hash) => `--hash=sha256:${hash}`)].join(' '));
  await runInstaller([python, ...INSTALL, '--no-deps', '--require-hashes', '--requirement', wanted], folder);
  await runInstaller([python, ...INSTALL, `litellm[proxy]==${VERSION}`], folder);
}
