import { secretOf } from '../access/key.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import type { Log } from '../host/telemetry/log.ts';
import { registerSecrets } from '../host/telemetry/secrets.ts';
import { openTracer } from '../host/telemetry/tracing/tracer.ts';
import { SecretFiles } from '../policy/runtime/secret-files.ts';
import { TokenSources } from '../policy/runtime/token-sources.ts';
import { watchDefects } from './defects.ts';
import type { Host } from './host.ts';
import type { ServerLife } from './life.ts';
import { openServerLog } from './log.ts';

/** Opens what a server needs of its process before anything else: the log, the secrets, the watch over defects and the traces. */
export async function openProcessParts(options: ServeOptions, around: Host, life: ServerLife) {
  const { log, families, written } = openServerLog(options, around);
  const secrets = openSecrets(around, log);
  const host = { ...around, env: secrets.get };
  const apiKey = apiKeyOf(secrets);
  const sources = await openSources(options.credentials, around, secrets, log);
  life.closes.defer(() => sources.close());
  const defects = watchDefects(log, host);
  const tracer = await openTracer({ env: host.env, version: host.version, log });
  life.closes.defer(() => tracer?.close());
  return { log, families, written, secrets, sources, host, apiKey, defects, tracer };
}

const openSecrets = ({ env, now }: Host, log: Log): SecretFiles =>
  new SecretFiles({
    env,
    now,
    onUnusable: (variable, problem, isKept) =>
      log.warn('a file with a secret cannot be used', {
        variable: `${variable}_FILE`,
        problem,
        last_value_kept: isKept,
      }),
  });

/** Opens the token sources, which fetch their tokens in the background. @throws UsageError if their file cannot be used */
async function openSources(
  path: string | null,
  { env, now, timers, err }: Host,
  { get: secret }: SecretFiles,
  log: Log,
): Promise<TokenSources> {
  const readYaml = path === null ? () => null : (await import('../policy/yaml/reader.ts')).readYaml;
  const sources = new TokenSources({ path, env, secret, now, timers, log, readYaml });
  sources.begin((text) => void err.write(text));
  return sources;
}

/**
 * Returns the API key that the operator wants to install. The server reads this API key only at the start.
 * @throws UsageError if the file of the key cannot be used
 */
function apiKeyOf(secrets: SecretFiles): string | null {
  const key = secrets.fixed('SIGNALBOX_API_KEY');
  // Only the secret part of the API key is masked in logs. The key's ID is not secret: lists and logs show it.
  registerSecrets([key && secretOf(key)]);
  return key;
}
