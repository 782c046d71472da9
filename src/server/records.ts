import { decisionEvent } from '../admin/use-cases/events.ts';
import type { DecisionRecord } from '../core/decision/record.ts';
import type { LinkedSet } from '../core/linked-set.ts';
import { addressOf } from '../core/money/holder-address.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { isCounted } from '../gateway/records/keep-indexed.ts';
import { openRecords, type Records } from '../gateway/records/records.ts';
import { findRunning, type RequestContext } from '../gateway/request/request-context.ts';
import type { ServerResources } from './resources.ts';

/** Opens the decision records; each added record is also sent as an event. */
export function openServerRecords(
  { store, keys, feed, host: { timers }, life }: ServerResources,
  inFlight: LinkedSet<RequestContext>,
  snapshot: () => PolicySnapshot,
): Records {
  const { now } = store.instance;
  const keyName = (id: string) => addressOf(id) ?? keys.known(id)?.name ?? null;
  const onAdd = (record: DecisionRecord) => {
    feed.tell(() => decisionEvent(record, { keyName, usdPerCredit: snapshot().usdPerCredit }));
  };
  const running = (id: number) => findRunning(inFlight, id);
  const records = openRecords({
    ...{ store, tables: store.records, now, timers, onAdd, running },
    isCounted: () => isCounted(() => store.traffic.count(now())),
  });
  life.closes.defer(() => records.refusals.close());
  return records;
}
