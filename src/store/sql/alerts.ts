import { type AlertMark, type AlertMessage, type AlertTable, isWaiting } from '../alerts.ts';
import { type SqlReader, sql, write } from './statement.ts';

interface MarkRow extends Omit<AlertMark, 'owner'> {
  readonly slot: number;
  readonly epoch: number;
}

interface MessageRow extends Pick<AlertMessage, 'id' | 'time'> {
  readonly content: string;
  readonly deliveries: string;
  readonly slot: number;
  readonly epoch: number;
}

const MARKS = sql('SELECT id, state, since, until, slot, epoch FROM alert_marks ORDER BY id');
const ADD_MARK = sql(
  `INSERT INTO alert_marks (id, state, since, until, slot, epoch) VALUES ($id, $state, $since, $until, $slot, $epoch)
    ON CONFLICT DO NOTHING`,
  { mustChange: true },
);
const CHANGE_MARK = sql(
  `UPDATE alert_marks SET state = $state, since = $since, until = $until, slot = $slot, epoch = $epoch
    WHERE id = $id AND state = $seenState AND since = $seenSince AND slot = $seenSlot AND epoch = $seenEpoch`,
  { mustChange: true },
);
const FORGET_MARKS = sql(`DELETE FROM alert_marks WHERE state != 'open' AND until <= ?`);

const COLUMNS = 'id, time, content, deliveries, slot, epoch';
const INSERT = sql(`INSERT INTO alert_messages (${COLUMNS}, waits)
    VALUES ($id, $time, $content, $deliveries, $slot, $epoch, $waits)`);
const UPDATE = sql(
  `UPDATE alert_messages SET deliveries = $deliveries, waits = $waits, slot = $slot, epoch = $epoch
    WHERE id = $id AND slot = $seenSlot AND epoch = $seenEpoch`,
  { mustChange: true },
);
const WAITING = sql(`SELECT ${COLUMNS} FROM alert_messages WHERE waits = 1 ORDER BY id`);
const LIST = sql(`SELECT ${COLUMNS} FROM alert_messages WHERE id < ?1 OR ?1 IS NULL ORDER BY id DESC LIMIT ?2`);
const TRIM = sql(`DELETE FROM alert_messages WHERE waits = 0 AND id <=
    (SELECT id FROM alert_messages ORDER BY id DESC LIMIT 1 OFFSET ?)`);

const rowOf = (message: AlertMessage) => ({
  id: message.id,
  time: message.time,
  content: JSON.stringify(message.content),
  deliveries: JSON.stringify(message.deliveries),
  waits: isWaiting(message) ? 1 : 0,
  ...message.owner,
});

const messageOf = ({ content, deliveries, slot, epoch, ...row }: MessageRow): AlertMessage => ({
  ...row,
  content: JSON.parse(content),
  deliveries: JSON.parse(deliveries),
  owner: { slot, epoch },
});

export const sqlAlerts = (db: SqlReader): AlertTable => ({
  async marks() {
    const rows = await db.query<MarkRow>(MARKS);
    return rows.map(({ slot, epoch, ...mark }) => ({ ...mark, owner: { slot, epoch } }));
  },
  mark({ seen, mark: { owner, ...mark } }) {
    const row = { ...mark, ...owner };
    if (!seen) return write(ADD_MARK, row);
    const { slot, epoch } = seen.owner;
    return write(CHANGE_MARK, {
      ...row,
      seenState: seen.state,
      seenSince: seen.since,
      seenSlot: slot,
      seenEpoch: epoch,
    });
  },
  insert: (message) => write(INSERT, rowOf(message)),
  update: (message, seen) => write(UPDATE, { ...rowOf(message), seenSlot: seen.slot, seenEpoch: seen.epoch }),
  waiting: async () => (await db.query<MessageRow>(WAITING)).map(messageOf),
  list: async ({ before, limit }) => (await db.query<MessageRow>(LIST, [before, limit])).map(messageOf),
  prune: (time, most) => [write(FORGET_MARKS, time), write(TRIM, most)],
});
