import type { GuardService, GuardServiceReply, GuardServiceRequest } from '../../contract/guard.ts';
import { OutboundError, outbound } from '../../host/outbound.ts';
import type { RunningGuard } from './guard-runtime.ts';

/** The most bytes of a reply. A list of all matches in a long conversation is far smaller. */
const REPLY_MAX = 1024 * 1024;

/** The service of a guard while it inspects one request or answer. */
export class OpenService implements GuardService {
  readonly apiKey: string | null;
  readonly #url: string;
  readonly #allowPrivate: boolean;
  readonly #msLeft: () => number;
  readonly #ending = new AbortController();

  private constructor(url: string, allowPrivate: boolean, apiKey: string | null, msLeft: () => number) {
    this.#url = url;
    this.#allowPrivate = allowPrivate;
    this.apiKey = apiKey;
    this.#msLeft = msLeft;
  }

  /** Returns the service of a guard; null if it calls none. @param msLeft the time until the guard's deadline, ms */
  static of({ rule: { service }, apiKey }: RunningGuard, msLeft: () => number): OpenService | null {
    return service ? new OpenService(service.url, service.allowPrivate, apiKey ?? null, msLeft) : null;
  }

  async post({ path = '', headers, body }: GuardServiceRequest): Promise<GuardServiceReply> {
    const { signal } = this.#ending;
    const url = this.#url + path;
    const limits = { timeoutMs: Math.max(1, Math.ceil(this.#msLeft())), bytesMax: REPLY_MAX, signal };
    try {
      const sent = { url, method: 'POST' as const, body, allowPrivate: this.#allowPrivate, ...limits };
      const { status, headers: received, text, isCut } = await outbound({ ...sent, ...(headers && { headers }) });
      if (isCut) throw new Error(`the reply has more than ${REPLY_MAX} bytes`);
      return { status, headers: received, text };
    } catch (cause) {
      if (!(cause instanceof OutboundError && cause.isPrivate)) throw cause;
      throw new Error(`${cause.message}: set \`allow_private_network\` of the guard's service to allow this address`);
    }
  }

  /** Ends the calls that are in progress. */
  end(): void {
    this.#ending.abort();
  }
}
