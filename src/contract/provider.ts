import type { Static, TObject } from '@sinclair/typebox';
import type { Capability } from '../core/capability.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { ProviderFailure, StreamPart } from './parts.ts';
import type { PluginStatus } from './status.ts';

/** One completion to ask of one upstream model. */
export interface ProviderCall {
  /** The provider's own name of the model. */
  readonly upstream: string;
  /**
   * As the caller sent it, checked, and without optional fields that were null, but for the `content` of messages.
   * Signalbox's own fields are to be ignored.
   */
  readonly request: ModelRequest;
  /** Fields unknown to the gateway that this provider's `passthrough` list lets through. */
  readonly extras: Readonly<Record<string, unknown>>;
  readonly stream: boolean;
  /** Output tokens of one choice at most. Must reach the upstream: the reservation relies on it. */
  readonly outputCap: number;
  readonly model: ModelTraits;
}

/** What the catalog says about how a model wants to be asked. */
export interface ModelTraits {
  readonly capabilities: readonly Capability[];
  /** What of the dialect the catalog says that it does not take. */
  readonly lacks: readonly Capability[];
  /** False: a temperature is refused and must be left out. */
  readonly acceptsTemperature: boolean;
  /** Pace for answers made in-process. */
  readonly ttftMs: number;
  readonly outputTokensPerSecond: number;
}

/** Where a service is and what is particular about it, by a name that policies use: `preset: groq`. A policy's own keys win. */
export interface ProviderPreset {
  /** Its public address. */
  readonly baseUrl?: string;
  /** The variable that holds its address, for what runs where only the operator knows. */
  readonly baseUrlEnv?: string;
  /** Where its API is on the host, for an address in that variable that names the host alone: `/v1`. */
  readonly basePath?: string;
  /** The variable that holds its key; absent for what needs none. */
  readonly apiKeyEnv?: string;
  /** Whether the name in its address may lead to this machine or into a private network. */
  readonly allowPrivateNetwork?: boolean;
  /** Request fields unknown to the gateway that it understands and that do not change the bill. */
  readonly passthrough?: readonly string[];
  /** What it caches of a prompt: for how long after it was read last, seconds, and from how many tokens on. */
  readonly cache?: { readonly ttlS: number; readonly tokensMin: number };
  /** Settings of the adapter that differ from its defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** What goes over the wire. The host adds the address, the key and its own headers. */
export interface HttpCall {
  /** Below the provider's base URL, such as `/chat/completions`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Request fields that this model cannot take and that were left out. */
  readonly dropped: readonly string[];
}

/** One event of a stream, as framed by the host. */
export interface Frame {
  /** The `event:` of an SSE frame; empty for none. */
  readonly event: string;
  readonly data: string;
}

/** A reducer over the frames of one stream. */
export interface StreamReader {
  read(frame: Frame): readonly StreamPart[];
}

/** An adapter that speaks a dialect over HTTP and only translates: it opens no connection and keeps no state. */
export interface WireAdapter {
  readonly kind: 'wire';
  /** Requests of the same dialect may carry `extras`. */
  readonly dialect: string;
  readonly frames: 'sse' | 'ndjson';
  /** Where the key goes; the host puts it there. */
  readonly auth: { readonly header: string; readonly prefix: string };
  /** The request as the dialect has it; or, for one that cannot be said in it, a failure of kind `rejected` that names the field. */
  request(call: ProviderCall): HttpCall | ProviderFailure;
  /** Translates a body that came in one piece with a 2xx status. */
  reply(body: string): readonly StreamPart[];
  /** A fresh reader for one stream. */
  stream(): StreamReader;
  /** Reads a status outside 2xx. */
  failure(status: number, headers: Headers, body: string): ProviderFailure;
}

/**
 * A wait between two parts of an in-process answer. Adapters have no timers: they say how long
 * to wait, and the host waits, within the deadlines of the call.
 */
export interface Pause {
  readonly type: 'pause';
  /** Milliseconds after the previous pause was due: a late reader does not slow the answer down. */
  readonly ms: number;
}

/** An adapter that answers in this process. */
export interface InProcessAdapter {
  readonly kind: 'in-process';
  /** Fields of the request that the answer will not heed; for `platform.dropped`. */
  dropped?(call: ProviderCall): readonly string[];
  /**
   * Makes the parts of one answer, lazily and synchronously; as everywhere, every choice must end
   * with a `finish`. The host takes parts as the caller reads them, and stops iterating (the
   * iterator's `return`) once the call is aborted or late. A throw becomes a failure of kind
   * `server`.
   */
  answer(call: ProviderCall): Iterable<StreamPart | Pause>;
}

export type PreparedProvider = (WireAdapter | InProcessAdapter) & {
  /**
   * What cannot be asked of a model here, whatever the catalog says of the model: it does not serve requests that need
   * it. `upstream` is the provider's own name of the model. Nothing if left out.
   */
  lacks?(model: ModelTraits, upstream: string): readonly Capability[];
};

export interface ProviderPlugin<Settings extends TObject = TObject> {
  readonly kind: 'provider';
  /** The version of the contract that the plugin is made for. */
  readonly contract: 2;
  readonly name: string;
  readonly status: PluginStatus;
  /** Checks the adapter's own settings in the policy; its defaults are applied before `prepare`. */
  readonly settings: Settings;
  /** Services that speak the dialect, by name. One that bears the plugin's own name is meant where a policy names none. */
  readonly presets?: Readonly<Record<string, ProviderPreset>>;
  prepare(settings: Static<Settings>): PreparedProvider;
}

/** Declares a provider adapter. */
export function defineProvider<Settings extends TObject>(
  plugin: Omit<ProviderPlugin<Settings>, 'kind'>,
): ProviderPlugin<Settings> {
  return { kind: 'provider', ...plugin };
}
