import { type Static, type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { PaymentRequirements } from '@x402/core/types';
import { parseJson } from '../../core/json/object.ts';
import { readText } from '../../providers/read-text.ts';
import { fetchedReply } from '../../providers/reply.ts';
import {
  type Authorization,
  type Chain,
  type Facilitator,
  FacilitatorUnavailable,
  type NetworkHost,
  queryOf,
  reasonCode,
  resultOfRefusal,
  type SettleResult,
  type Verification,
} from './facilitator.ts';
import { isUnreached, type Nodes, orUnavailable } from './nodes.ts';
import { hex } from './token-abi.ts';

interface RemoteOptions {
  readonly nodes: Nodes;
  readonly chain: Chain;
  readonly host: NetworkHost;
  readonly url: string;
  readonly timeoutMs: number;
  /** A token that is sent with each request; null for none. */
  readonly bearer: string | null;
}

/** The maximum number of bytes that are read from a response. */
const ANSWER_MAX = 65_536;

/** Null means absent. */
const OptionalText = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const VerifyResponse = Type.Object({ isValid: Type.Boolean(), invalidReason: OptionalText });
const SettleResponse = Type.Object({
  success: Type.Boolean(),
  transaction: Type.String({ maxLength: 200 }),
  network: Type.String(),
  payer: OptionalText,
  errorReason: OptionalText,
});

const TRANSACTION = /^0x[0-9a-f]{64}$/i;
/** Statuses with which a service, or a proxy before it, says that it did not process the payment. */
const UNPROCESSED = new Set([401, 403, 404, 405, 413, 415, 429]);
/** Codes after which a transaction may have been sent. */
const UNCERTAIN = /pending|nonce_already_used|transaction_failed|transaction_state|event_mismatch|^unexpected/;

/** The first pause between two checks of the chain, ms. */
const LOOK_FIRST_MS = 50;
const LOOK_MAX_MS = 800;

/** The response of the service; `content` is null if the JSON has another form. */
interface FacilitatorAnswer<T> {
  readonly status: number;
  readonly content: T | null;
}

/**
 * Settles through a remote service with x402's HTTP interface. The remote facilitator does not use the client of @x402/core, which follows
 * redirects with the token and the signed payment, prints the service's messages, and reads responses of any size.
 */
export class RemoteFacilitator implements Facilitator {
  readonly #options: RemoteOptions;
  readonly #closed = new AbortController();

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  async verify(authorization: Authorization): Promise<Verification> {
    const answer = await this.#post('verify', authorization, VerifyResponse).catch(() => null);
    if (answer === null) throw this.#unavailable('does not answer');
    const { status, content } = answer;
    if (content === null || status >= 500) throw this.#unavailable(`answers a verification with ${status}`);
    if (content.isValid) return { valid: true };
    const reason = reasonCode(content.invalidReason);
    if (reason.startsWith('unexpected')) throw this.#unavailable('cannot verify');
    // This server has verified the signature. A service whose node is down reports the signature as bad.
    if (reason === 'invalid_exact_evm_signature' && !(await this.#isContract(authorization.payer))) {
      throw this.#unavailable('rejects a valid signature');
    }
    return { valid: false, reason };
  }

  async settle(authorization: Authorization): Promise<SettleResult> {
    let answer: FacilitatorAnswer<Static<typeof SettleResponse>>;
    try {
      answer = await this.#post('settle', authorization, SettleResponse);
    } catch (cause) {
      if (isUnreached(cause)) throw this.#unavailable('cannot be reached');
      return { state: 'unknown', reason: 'facilitator_unreachable', transaction: null };
    }
    const { status, content } = answer;
    if (content === null) {
      if (UNPROCESSED.has(status) || (status >= 300 && status < 400)) {
        throw this.#unavailable(`answers a settlement with ${status}`);
      }
      return { state: 'unknown', reason: 'facilitator_unclear', transaction: null };
    }
    return this.#resultOf(content, authorization);
  }

  close(): void {
    this.#closed.abort();
  }

  async #resultOf(content: Static<typeof SettleResponse>, authorization: Authorization): Promise<SettleResult> {
    const { payer, requirements } = authorization;
    const transaction = TRANSACTION.test(content.transaction) ? content.transaction : null;
    if (content.success) {
      const isOurs = content.network === requirements.network && (content.payer ?? payer).toLowerCase() === payer;
      if (isOurs && transaction !== null) return this.#confirm(authorization, transaction);
      return { state: 'unknown', reason: 'facilitator_unclear', transaction };
    }
    const reason = reasonCode(content.errorReason);
    const unknown = { state: 'unknown', reason, transaction } as const;
    if (transaction !== null || UNCERTAIN.test(reason)) return unknown;
    return resultOfRefusal(this.#options, authorization, reason).catch(() => unknown);
  }

  /**
   * Waits for the chain to show the transfer, because a service's claim alone must not credit a wallet. Nodes may know the transfer later
   * than the service does.
   */
  async #confirm(authorization: Authorization, transaction: string): Promise<SettleResult> {
    const { chain, host, timeoutMs } = this.#options;
    const query = queryOf(authorization, host.now());
    const end = performance.now() + timeoutMs;
    for (let pause = LOOK_FIRST_MS; ; pause = Math.min(2 * pause, LOOK_MAX_MS)) {
      const outcome = await chain.outcome(query).catch(() => null);
      if (outcome?.state === 'used') return { state: 'captured', transaction: outcome.transaction };
      if (outcome?.state === 'cancelled' || this.#closed.signal.aborted || performance.now() + pause > end) break;
      await Bun.sleep(pause);
    }
    return { state: 'unknown', reason: 'not_on_chain_yet', transaction };
  }

  /** Contract wallets verify their own signatures. */
  async #isContract(payer: string): Promise<boolean> {
    const { nodes } = this.#options;
    return (await orUnavailable(nodes, nodes.client.getCode({ address: hex(payer) }))) !== undefined;
  }

  #unavailable(what: string): FacilitatorUnavailable {
    return new FacilitatorUnavailable(`The facilitator of ${this.#options.nodes.id} ${what}.`);
  }

  async #post<T extends TSchema>(
    path: 'verify' | 'settle',
    { payload, requirements }: Authorization,
    form: T,
  ): Promise<FacilitatorAnswer<Static<T>>> {
    const { url, timeoutMs, bearer } = this.#options;
    const paymentRequirements = withoutQuote(requirements);
    const paymentPayload = { ...payload, accepted: paymentRequirements };
    const response = await fetch(`${url.replace(/\/+$/, '')}/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      },
      body: JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements }),
      redirect: 'manual',
      decompress: false,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readText(fetchedReply(response), ANSWER_MAX);
    const content = parseJson(text);
    return { status: response.status, content: Value.Check(form, content) ? content : null };
  }
}

/** Removes the quote's own fields. With the quote's fields, the service could submit the payment to this gateway as the payer. */
function withoutQuote({ extra: { name, version, paymentFlow }, ...rest }: PaymentRequirements): PaymentRequirements {
  return { ...rest, extra: { name, version, paymentFlow } };
}
