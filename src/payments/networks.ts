import type { PaymentNetwork } from '../core/policy/payments.ts';
import { messageOf } from '../core/thrown.ts';
import type { Timer, Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import {
  FacilitatorUnavailable,
  type NetworkClients,
  type NetworkHost,
  type OpenNetwork,
} from './facilitator/facilitator.ts';

/** The shortest pause between two checks of a network that does not answer, ms. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** A network of the policy, with the clients that serve it. */
export type NetworkConnection = Pick<OpenConnection, 'policy' | 'network' | 'asset' | 'payTo' | 'isReady'>;

export interface NetworkStatus {
  readonly id: string;
  readonly isReady: boolean;
  /** See `Facilitator.gasRatio`. Also null if a remote facilitator pays the gas. */
  readonly gasRatio: number | null;
}

interface NetworksOptions {
  readonly open: OpenNetwork;
  readonly host: Omit<NetworkHost, 'onAlarm'>;
  readonly log: Log;
  readonly timers: Timers;
}

/** The networks of the active policy. A network that a new policy does not change stays open. State: payment networks. */
export class Networks {
  readonly #options: NetworksOptions;
  #inForce: readonly OpenConnection[] = [];
  /** The networks of the last preparation, whether it was activated or not. */
  #prepared: readonly OpenConnection[] = [];
  #isClosed = false;

  constructor(options: NetworksOptions) {
    this.#options = options;
  }

  /**
   * Opens the networks that are new or changed.
   * @returns a function that activates them
   * @throws the Error of `OpenNetwork`; nothing is changed then
   */
  async prepare(policies: readonly PaymentNetwork[]): Promise<() => void> {
    // Drops a preparation that was never activated.
    retire(this.#prepared, this.#inForce);
    this.#prepared = this.#inForce;
    const connections: OpenConnection[] = [];
    try {
      for (const policy of policies) connections.push(await this.#connect(policy));
    } catch (cause) {
      retire(connections, this.#inForce);
      throw cause;
    }
    this.#prepared = connections;
    return () => {
      const before = this.#inForce;
      this.#inForce = connections;
      retire(before, connections);
      if (this.#isClosed) this.close();
    };
  }

  async #connect(policy: PaymentNetwork): Promise<OpenConnection> {
    const { open, host, log, timers } = this.#options;
    const definition = definitionOf(policy, host);
    const same = this.#inForce.find((connection) => connection.definition === definition);
    if (same) return same;
    const { getAddress } = await import('viem/utils');
    const network = await open(policy, {
      ...host,
      onAlarm: (message) => log.error(message, { network: policy.id }),
    });
    const addresses = { asset: getAddress(policy.asset.address), payTo: getAddress(policy.payTo) };
    return new OpenConnection({ policy, definition, network, ...addresses, log, timers });
  }

  /** The ready networks in the policy's order. */
  ready(): readonly NetworkConnection[] {
    return this.#inForce.filter(({ isReady }) => isReady);
  }

  /** All networks in the policy's order. */
  statuses(): readonly NetworkStatus[] {
    return this.#inForce.map(({ policy: { id }, isReady, network: { facilitator } }) => {
      return { id, isReady, gasRatio: facilitator.gasRatio ?? null };
    });
  }

  /** Lends a connection to `work`. A network connection that a reload removes stays open until the work that uses it has ended. */
  async use<T>(id: string, work: (connection: NetworkConnection | null) => Promise<T>): Promise<T> {
    const connection = this.#inForce.find(({ policy }) => policy.id === id) ?? null;
    connection?.enter();
    try {
      return await work(connection);
    } finally {
      connection?.leave();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of [...this.#prepared, ...this.#inForce]) connection.close();
  }
}

function retire(connections: readonly OpenConnection[], but: readonly OpenConnection[]): void {
  for (const connection of connections) if (!but.includes(connection)) connection.retire();
}

/**
 * The text by which networks are compared: their policy, and the environment's token and node addresses, which may change although the
 * policy does not. `rate` contains bigints, which JSON cannot write.
 */
function definitionOf(policy: PaymentNetwork, { env }: Pick<NetworkHost, 'env'>): string {
  const { facilitator, rpcUrlsEnv } = policy;
  const variables = [rpcUrlsEnv, facilitator.mode === 'http' ? facilitator.bearerEnv : null];
  const values = variables.map((name) => name && env(name));
  return JSON.stringify([policy, values], (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));
}

interface ConnectionParts extends Pick<OpenConnection, 'policy' | 'definition' | 'network' | 'asset' | 'payTo'> {
  readonly log: Log;
  readonly timers: Timers;
}

class OpenConnection {
  readonly policy: PaymentNetwork;
  readonly definition: string;
  readonly network: NetworkClients;
  /** The address with checksum capitals, like `payTo`. */
  readonly asset: string;
  readonly payTo: string;
  readonly #log: Log;
  /** Whether the chain and the asset match the policy. */
  isReady = false;
  #users = 0;
  #isRetired = false;
  #isClosed = false;
  readonly #logged = new Set<string>();
  readonly #timers: Timers;
  #timer: Timer | null = null;

  constructor({ policy, definition, network, asset, payTo, log, timers }: ConnectionParts) {
    this.policy = policy;
    this.definition = definition;
    this.network = network;
    this.asset = asset;
    this.payTo = payTo;
    this.#log = log;
    this.#timers = timers;
    void this.#check(RETRY_MIN_MS);
  }

  enter(): void {
    this.#users++;
  }

  leave(): void {
    this.#users--;
    if (this.#isRetired && this.#users === 0) this.close();
  }

  retire(): void {
    this.#isRetired = true;
    if (this.#users === 0) this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.isReady = false;
    this.#timer?.close();
    this.network.facilitator.close();
  }

  /** Repeats the check until the chain matches the policy. Never rejects. */
  async #check(pauseMs: number): Promise<void> {
    try {
      await this.network.chain.check();
      if (this.#isClosed) return;
      this.isReady = true;
      this.#log.info('a payment network is ready', { network: this.policy.id });
      await this.network.facilitator.watch?.();
    } catch (cause) {
      if (this.#isClosed) return;
      const isSilent = cause instanceof FacilitatorUnavailable;
      this.#logOnce(isSilent, cause);
      // An operator may fix the node without changing its address, so a mismatch is checked again, too.
      const pause = isSilent ? pauseMs : RETRY_MAX_MS;
      this.#timer = this.#timers.after(pause, () => void this.#check(Math.min(pause * 2, RETRY_MAX_MS)));
      this.#timer.unref();
    }
  }

  #logOnce(isSilent: boolean, cause: unknown): void {
    const fields = { network: this.policy.id, detail: messageOf(cause) };
    const message = isSilent
      ? 'a payment network does not answer: it is not used until it does'
      : 'a payment network does not match the policy: it is not used';
    if (this.#logged.has(message)) return;
    this.#logged.add(message);
    if (isSilent) this.#log.warn(message, fields);
    else this.#log.error(message, fields);
  }
}
