import type { SourcedKey } from '../../core/policy/sourced-key.ts';
import { plural } from '../../core/text/text.ts';
import { iso } from '../../core/time/clock.ts';
import type { Timers } from '../../core/time/timers.ts';
import { UsageError } from '../../core/usage-error.ts';
import { TokenKeeper } from '../../host/credentials/keeper.ts';
import { callMetadata } from '../../host/credentials/metadata.ts';
import type { SourceCall, SourceContext } from '../../host/credentials/source.ts';
import { outbound } from '../../host/outbound.ts';
import type { Log } from '../../host/telemetry/log.ts';
import { registerSecrets } from '../../host/telemetry/secrets.ts';
import { errorsIn, firstError, formatDiagnostics } from '../report/diagnostics.ts';
import type { YamlReader } from '../yaml/parse.ts';
import { type CredentialsFile, readCredentials, type StatedSource } from './credentials-file.ts';
import type { SecretStatus } from './secret-files.ts';

/** The time limit of one call of a source, ms, and the most bytes of its answer. */
const CALL = { timeoutMs: 10_000, bytesMax: 65_536 } as const;

/** Calls the real token services and metadata services. A token service may be in a private network, such as an endpoint of a VPC. */
const REAL_CALLS: Pick<SourceContext, 'call' | 'callMetadata'> = {
  call: ({ method, ...request }) =>
    outbound({ ...request, ...CALL, method: method === 'PUT' ? 'POST' : method, allowPrivate: true }),
  callMetadata: (request) => callMetadata({ ...request, ...CALL }),
};

interface TokenSourcesOptions {
  /** The path of the credentials file; null for no token sources. */
  readonly path: string | null;
  /** Reads a variable of the process. */
  readonly env: (name: string) => string | undefined;
  /** Reads a variable, which may be in a file. */
  readonly secret: (name: string) => string | undefined;
  readonly now: () => number;
  readonly timers: Timers;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly readYaml: YamlReader;
  readonly calls?: Readonly<Record<'call' | 'callMetadata', SourceCall>>;
}

/** A source that is in use. */
interface OpenSource extends StatedSource {
  readonly keeper: TokenKeeper;
  readonly key: SourcedKey;
}

/** The token sources of the credentials file. State: cloud tokens. */
export class TokenSources {
  readonly #options: TokenSourcesOptions;
  #sources: ReadonlyMap<string, OpenSource> = new Map();
  /** Why the file cannot be used now; the sources of its last valid text stay in use. */
  #problem: string | null = null;
  /** The text that was read last; null if it could not be read. */
  #text: string | null = null;
  /** Called when a source has a token again. */
  onSuccess: () => void = () => {};

  constructor(options: TokenSourcesOptions) {
    this.#options = options;
  }

  /** Reads the file, and begins to fetch tokens. @throws UsageError if the file cannot be used @param print shows diagnostics */
  begin(print: (text: string) => void): void {
    const { path } = this.#options;
    if (path === null) return;
    const found = this.#read(path);
    if (found.problems.length > 0) print(`${formatDiagnostics(found.problems, [found.file])}\n`);
    const errors = errorsIn(found.problems);
    if (errors > 0) throw new UsageError(`The credentials file ${path} has ${plural(errors, 'error')}.`);
    const conflict = this.#conflictIn(found);
    if (conflict !== null) throw new UsageError(`${conflict}.`);
    this.#use(found.sources);
  }

  /** Resolves when each source has fetched a token or failed once. */
  async tried(): Promise<void> {
    await Promise.all([...this.#sources.values()].map(({ keeper }) => keeper.tried));
  }

  /** Returns the key of a variable; undefined for a variable without a token source. */
  readonly find = (variable: string): SourcedKey | undefined => this.#sources.get(variable)?.key;

  /** Reads the file again. An error keeps the sources. `reread` returns the variables whose sources have changed. */
  reread(): readonly string[] {
    const { path, log } = this.#options;
    if (path === null) return [];
    const before = this.#text;
    const found = this.#read(path);
    if (this.#text === before && before !== null && this.#problem === null) return [];
    const fault = firstError(found.problems) ?? this.#conflictIn(found);
    if (fault !== this.#problem) {
      if (fault === null) log.info('the credentials file can be used again', { file: path });
      else log.warn('the credentials file cannot be used', { file: path, problem: fault, last_sources_kept: true });
    }
    this.#problem = fault;
    return fault === null ? this.#use(found.sources) : [];
  }

  /** Renews tokens early after a provider has refused a key, which may have been a token that was revoked. */
  refused(): void {
    for (const { keeper } of this.#sources.values()) keeper.refused();
  }

  /** The files whose changes need a `reread`. */
  readonly paths = (): readonly string[] => (this.#options.path === null ? [] : [this.#options.path]);

  readonly list = (): readonly SecretStatus[] =>
    [...this.#sources.values()].map(({ variable, kind, keeper }) => ({
      variable,
      source: kind.name,
      readAt: keeper.fetchedAt,
      isSet: keeper.current !== null,
      expiresAt: keeper.current?.expiresAt ?? null,
      problem: this.#problem ?? keeper.problem,
    }));

  close(): void {
    for (const { keeper } of this.#sources.values()) keeper.close();
  }

  #read(path: string): CredentialsFile {
    const found = readCredentials(path, this.#options.readYaml);
    this.#text = found.file.text ?? null;
    return found;
  }

  #conflictIn({ sources }: CredentialsFile): string | null {
    const { env, path } = this.#options;
    for (const { variable } of sources) {
      const set = [variable, `${variable}_FILE`].find((name) => env(name)?.trim());
      if (set !== undefined) return `${set} is set, and ${path} has a token source for ${variable}; remove one of them`;
    }
    return null;
  }

  /** Returns the variables whose sources have changed. */
  #use(stated: readonly StatedSource[]): readonly string[] {
    const before = this.#sources;
    this.#sources = new Map(
      stated.map((source) => {
        const known = before.get(source.variable);
        return [
          source.variable,
          known && Bun.deepEquals(known.stated, source.stated) ? known : this.#open(source, known),
        ];
      }),
    );
    const names = new Set([...before.keys(), ...this.#sources.keys()]);
    const changed = [...names].filter((name) => before.get(name) !== this.#sources.get(name));
    for (const name of changed) {
      before.get(name)?.keeper.close();
      void this.#sources.get(name)?.keeper.renew();
    }
    return changed;
  }

  /**
   * @param known the earlier source of the variable. Its token serves until the first token of the new source, unless the new source names
   * hosts that may not receive it.
   */
  #open(source: StatedSource, known: OpenSource | undefined): OpenSource {
    const { env, now, timers, log, path, calls = REAL_CALLS } = this.#options;
    const secret = (name: string) => {
      const value = this.#options.secret(name);
      // A token service could repeat it in an error.
      registerSecrets([value]);
      return value;
    };
    const { variable, hosts, kind } = source;
    const named = { variable, source: kind.name };
    const keeper = new TokenKeeper({
      fetch: kind.open(source.stated, { now, timers, env, secret, ...calls }),
      ...{ now, timers, random: Math.random },
      first: known && hosts.every((host) => known.hosts.includes(host)) ? known.keeper.current : null,
      onFailure: (problem, until) =>
        log.warn('a token could not be fetched', { ...named, problem, last_valid_until: until && iso(until) }),
      onSuccess: () => {
        log.info('a token was fetched', {
          ...named,
          valid_until: keeper.current?.expiresAt && iso(keeper.current.expiresAt),
        });
        this.onSuccess();
      },
    });
    const key: SourcedKey = {
      ...{ variable, hosts, file: path ?? '' },
      token: () => keeper.current?.value ?? null,
      problem: () => keeper.problem ?? 'it is being fetched',
    };
    return { ...source, keeper, key };
  }
}
