import type { PaymentNetwork } from '../core/payment-policy.ts';
import type { Log } from '../telemetry/log.ts';
import {
  FacilitatorUnavailable,
  type Network,
  type NetworkMeans,
  type OpenNetwork,
} from './facilitator/facilitator.ts';

/** Pauses between looks at a network that does not answer, ms. */
const RETRY_MIN_MS = 1_000;
const RETRY_MAX_MS = 30_000;

/** A network of the policy. */
export interface Place {
  readonly policy: PaymentNetwork;
  readonly network: Network;
  /** Addresses with the checksum that their letters' case is. */
  readonly asset: string;
  readonly payTo: string;
  /** Whether the chain has been found as the policy says. */
  readonly isReady: boolean;
}

/** How a network of the policy stands. */
export interface NetworkStanding {
  readonly id: string;
  readonly isReady: boolean;
  /** As `Facilitator.gasRatio`; null, too, where others pay the gas. */
  readonly gasRatio: number | null;
}

export interface NetworksOptions {
  readonly open: OpenNetwork;
  readonly means: Omit<NetworkMeans, 'onAlarm'>;
  readonly log: Log;
}

/** The networks of the policy in force. A policy that leaves one as it was keeps it open. */
export class Networks {
  readonly #options: NetworksOptions;
  #inForce: readonly OpenPlace[] = [];
  /** Of the last preparation, in force or not. */
  #prepared: readonly OpenPlace[] = [];
  #isClosed = false;

  constructor(options: NetworksOptions) {
    this.#options = options;
  }

  /**
   * Opens what is new, and resolves with what puts it in force. Rejects with the Error of `OpenNetwork`; then all is as
   * before.
   */
  async prepare(policies: readonly PaymentNetwork[]): Promise<() => void> {
    // A preparation that was never put in force is given up.
    retire(this.#prepared, this.#inForce);
    this.#prepared = this.#inForce;
    const places: OpenPlace[] = [];
    try {
      for (const policy of policies) places.push(await this.#place(policy));
    } catch (cause) {
      retire(places, this.#inForce);
      throw cause;
    }
    this.#prepared = places;
    return () => {
      const before = this.#inForce;
      this.#inForce = places;
      retire(before, places);
      if (this.#isClosed) this.close();
    };
  }

  async #place(policy: PaymentNetwork): Promise<OpenPlace> {
    const definition = definitionOf(policy);
    const same = this.#inForce.find((place) => place.definition === definition);
    if (same) return same;
    const { open, means, log } = this.#options;
    const { getAddress } = await import('viem/utils');
    const network = await open(policy, {
      ...means,
      onAlarm: (message) => log.error(message, { network: policy.id }),
    });
    const addresses = { asset: getAddress(policy.asset.address), payTo: getAddress(policy.payTo) };
    return new OpenPlace({ policy, definition, network, ...addresses, log });
  }

  /** In the policy's order. */
  ready(): readonly Place[] {
    return this.#inForce.filter(({ isReady }) => isReady);
  }

  /** In the policy's order, ready or not. */
  standings(): readonly NetworkStanding[] {
    return this.#inForce.map(({ policy: { id }, isReady, network: { facilitator } }) => {
      return { id, isReady, gasRatio: facilitator.gasRatio ?? null };
    });
  }

  /** A place that a reload takes away stays open until the work that is done there has ended. */
  async use<T>(id: string, work: (place: Place | null) => Promise<T>): Promise<T> {
    const place = this.#inForce.find(({ policy }) => policy.id === id) ?? null;
    place?.enter();
    try {
      return await work(place);
    } finally {
      place?.leave();
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const place of [...this.#prepared, ...this.#inForce]) place.close();
  }
}

function retire(places: readonly OpenPlace[], but: readonly OpenPlace[]): void {
  for (const place of places) if (!but.includes(place)) place.retire();
}

/** One text for one policy of a network. Its rate has numbers that JSON does not. */
const definitionOf = (policy: PaymentNetwork): string =>
  JSON.stringify(policy, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value));

interface PlaceParts extends Omit<Place, 'isReady'> {
  readonly definition: string;
  readonly log: Log;
}

class OpenPlace implements Place {
  readonly policy: PaymentNetwork;
  readonly definition: string;
  readonly network: Network;
  readonly asset: string;
  readonly payTo: string;
  readonly #log: Log;
  isReady = false;
  #users = 0;
  #isRetired = false;
  #isClosed = false;
  /** What was told of it, once each. */
  readonly #told = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor({ policy, definition, network, asset, payTo, log }: PlaceParts) {
    this.policy = policy;
    this.definition = definition;
    this.network = network;
    this.asset = asset;
    this.payTo = payTo;
    this.#log = log;
    void this.#look(RETRY_MIN_MS);
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
    if (this.#timer) clearTimeout(this.#timer);
    this.network.facilitator.close();
  }

  /** Again and again, until the chain is found to be as the policy says. Never rejects. */
  async #look(pauseMs: number): Promise<void> {
    try {
      await this.network.chain.check();
      if (this.#isClosed) return;
      this.isReady = true;
      this.#log.info('a payment network is ready', { network: this.policy.id });
      await this.network.facilitator.watch?.();
    } catch (cause) {
      if (this.#isClosed) return;
      const isSilent = cause instanceof FacilitatorUnavailable;
      this.#tell(isSilent, cause);
      // What is wrong may be put right behind the same address.
      const pause = isSilent ? pauseMs : RETRY_MAX_MS;
      this.#timer = setTimeout(() => void this.#look(Math.min(pause * 2, RETRY_MAX_MS)), pause);
      this.#timer.unref();
    }
  }

  #tell(isSilent: boolean, cause: unknown): void {
    const fields = { network: this.policy.id, detail: cause instanceof Error ? cause.message : String(cause) };
    const message = isSilent
      ? 'a payment network does not answer, and is left out until it does'
      : 'a payment network is not what the policy says, and is left out';
    if (this.#told.has(message)) return;
    this.#told.add(message);
    if (isSilent) this.#log.warn(message, fields);
    else this.#log.error(message, fields);
  }
}
