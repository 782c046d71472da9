import { ByteRoom } from '../core/byte-room.ts';
import { LinkedSet } from '../core/linked-set.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { AnswerCache } from '../gateway/cache/answer-cache.ts';
import { AnswerTurns } from '../gateway/exchange/answer-turns.ts';
import { Affinity } from '../gateway/prompt/affinity.ts';
import { Conversations, isRead } from '../gateway/prompt/conversations.ts';
import { Sessions } from '../gateway/prompt/sessions.ts';
import { Threads } from '../gateway/prompt/threads.ts';
import { CountPlaces } from '../gateway/request/count-places.ts';
import type { RequestContext } from '../gateway/request/request-context.ts';
import { loadSecret } from '../payments/seal.ts';
import { createTokenCounter } from '../providers/tokenizer/counter.ts';
import type { ServerResources } from './resources.ts';

/** Opens the state of requests and prompts that is kept in memory. State: gateway. */
export async function openMemory({ store, log, host: { clock } }: ServerResources) {
  const secret = await loadSecret(store);
  const turns = new AnswerTurns();
  return {
    turns,
    cache: new AnswerCache({
      ...{ store, secret, turns, now: store.instance.now },
      onError: (error) => log.warn('old answers of the cache could not be deleted', { error: String(error) }),
    }),
    affinity: new Affinity(clock, undefined, secret),
    sessions: new Sessions(clock),
    countPlaces: new CountPlaces(),
    inFlight: new LinkedSet<RequestContext>(),
    answers: new ByteRoom(),
    counter: createTokenCounter((error) => log.error('tokens cannot be counted', { error })),
  };
}

/** Opens what the store keeps of prompts. Servers that share the store follow the conversations of the others. */
export async function openPrompts({ store, host, life }: ServerResources, snapshot: () => PolicySnapshot) {
  const { now } = store.instance;
  const conversations = new Conversations(store, now);
  await conversations.pull();
  if (store.leaders) conversations.follow(host.timers, () => isRead(snapshot()));
  life.stops.defer(() => conversations.close());
  return { threads: new Threads(store, now, await loadSecret(store)), conversations };
}
