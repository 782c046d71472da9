import { readdirSync, readFileSync } from 'node:fs';
import { presidio } from '../../plugins/guards/services/presidio.ts';
import { webhook } from '../../plugins/guards/services/webhook.ts';
import { auto, autoCheap, autoFast } from '../../plugins/strategies/auto.ts';
import { weighted } from '../../plugins/strategies/weighted.ts';
import type { GuardPlugin } from '../../src/contract/guard.ts';
import { defineGuard, defineProvider, defineStrategy, Type } from '../../src/contract/plugin.ts';
import type { ProviderPlugin } from '../../src/contract/provider.ts';
import type { StrategyPlugin } from '../../src/contract/strategy.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { type LoadContext, type LoadResult, loadPolicy, type PolicyFile } from '../../src/policy/load.ts';
import type { Diagnostic, DiagnosticCode } from '../../src/policy/report/diagnostics.ts';

const status = 'stable' as const;

const strategies: StrategyPlugin[] = [
  auto,
  autoFast,
  autoCheap,
  weighted,
  defineStrategy({
    name: 'moody',
    status,
    options: Type.Object({}),
    prepare: () => {
      throw new Error('not today');
    },
  }),
];

const unused = () => {
  throw new Error('not for these tests');
};

const providers: ProviderPlugin[] = [
  defineProvider({
    contract: 2,
    name: 'keyless',
    status,
    settings: Type.Object({}),
    prepare: () => ({
      kind: 'wire',
      dialect: 'keyless',
      frames: 'sse',
      request: unused,
      reply: unused,
      stream: unused,
      failure: unused,
    }),
  }),
  defineProvider({
    contract: 2,
    name: 'simulated',
    status,
    settings: Type.Object({}),
    prepare: () => ({
      kind: 'in-process',
      answer: unused,
      afterAbort: { bills: 'stops', reports: 'each', marginTokens: 16, marginMs: 100 },
    }),
  }),
  defineProvider({
    contract: 2,
    name: 'openai-compatible',
    status,
    settings: Type.Object({
      reasoning_history: Type.Optional(Type.Union([Type.Literal('reasoning_content'), Type.Literal('demanded')])),
      max_tokens_field: Type.Union([Type.Literal('max_tokens'), Type.Literal('max_completion_tokens')], {
        default: 'max_tokens',
      }),
      lacks: Type.Array(Type.Union([Type.Literal('seed'), Type.Literal('stop')]), { default: [] }),
      server: Type.Optional(Type.Literal('ollama')),
    }),
    presets: {
      groq: {
        baseUrl: 'https://groq.example/v1',
        apiKeyEnv: 'GROQ_API_KEY',
        passthrough: ['reasoning_format'],
        cache: { ttlS: 7, tokensMin: 8 },
        settings: { max_tokens_field: 'max_completion_tokens', lacks: ['seed'] },
      },
      ollama: {
        baseUrlEnv: 'OLLAMA_BASE_URL',
        basePath: '/v1',
        allowPrivateNetwork: true,
        settings: { server: 'ollama' },
      },
    },
    prepare: ({ lacks, server }) => ({
      kind: 'wire',
      ...(server && { modelServer: { requests: [], read: () => null } }),
      lacks: (_, upstream) => (upstream === 'untold' ? unused() : lacks),
      dialect: 'openai',
      frames: 'sse',
      auth: { header: 'authorization', prefix: 'Bearer ' },
      request: unused,
      reply: unused,
      stream: unused,
      failure: unused,
      embeddings: { request: unused, reply: unused },
    }),
  }),
];

const guards: GuardPlugin[] = [
  presidio,
  webhook,
  defineGuard({
    name: 'words',
    status,
    settings: Type.Object({ deny: Type.Array(Type.String()) }, { additionalProperties: false }),
    pure: true,
    window: 'message',
    sides: ['input'],
    prepare: ({ deny }) => {
      if (deny.length === 0) throw new Error('state at least one text in `deny`');
      return { kinds: ['word'], check: () => [] };
    },
  }),
];

const byName = <Plugin extends { name: string }>(plugins: Plugin[]) =>
  new Map(plugins.map((plugin) => [plugin.name, plugin]));

/** Makes a load context with plugins named like the shipped ones, and an environment. The revision is the content itself. */
export function contextOf(env: Readonly<Record<string, string>>): LoadContext {
  return {
    env: { get: (name) => env[name] },
    strategies: byName(strategies),
    providers: byName(providers),
    guards: byName(guards),
    revisionOf: (content) => content,
  };
}

/** Loads files in a context made by `contextOf`. */
export function load(
  files: readonly PolicyFile[],
  env: Readonly<Record<string, string>> = {},
  more: Partial<Pick<LoadContext, 'env'>> &
    Pick<LoadContext, 'plugins' | 'outside' | 'today' | 'ledger' | 'teams'> = {},
): LoadResult {
  return loadPolicy(files, { ...contextOf(env), ...more });
}

/** Loads a policy from a single file, `p.yaml`. */
export function loadText(text: string, env: Readonly<Record<string, string>> = {}): LoadResult {
  return load([{ path: 'p.yaml', text }], env);
}

/** Returns the snapshot of a policy that must be valid. */
export function snapshotOf(result: LoadResult): PolicySnapshot {
  if (!result.snapshot) throw new Error(result.diagnostics.map(brief).join('\n'));
  return result.snapshot;
}

/** Writes a diagnostic as `line:col code`, without the file. */
export function brief(found: Diagnostic): string {
  return `${found.line}:${found.column} ${found.code}`;
}

/** Returns all problems of a text in the form of `brief`. */
export function problems(text: string, env: Readonly<Record<string, string>> = {}): string[] {
  return loadText(text, env).diagnostics.map(brief);
}

/** Returns the only problem with a code. */
export function only(result: LoadResult, code: DiagnosticCode): Diagnostic {
  const found = result.diagnostics.filter((diagnostic) => diagnostic.code === code);
  const [first] = found;
  if (!first || found.length > 1) throw new Error(`${found.length} of ${code}: ${result.diagnostics.map(brief)}`);
  return first;
}

/** Returns the files of the shipped policy. */
export function shippedPolicy(): { path: string; text: string }[] {
  const folder = new URL('../../policies/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => ({ path: `policies/${name}`, text: readFileSync(new URL(name, folder), 'utf8') }));
}

/** A valid policy of 13 lines, to append to. */
export const SMALL = `version: 1
providers:
  sim: { adapter: simulated }
models:
  tiny:
    provider: sim
    price: { input: 0.10, output: 0.40 }
    context_window: 8192
    max_output: 2048
    quality:
      default: 0.6
    latency:
      ttft_ms: 100
`;
