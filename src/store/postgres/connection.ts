import { Client, type ClientConfig, escapeIdentifier, escapeLiteral } from 'pg';
import { messageOf } from '../../core/thrown.ts';
import { StoreError } from '../store.ts';
import { type PostgresAddress, placeAt } from './address.ts';
import { failureOf, isReadOnly } from './fault.ts';

/**
 * Only this file uses the driver `pg`. A `Connection` never reconnects: once a connection is lost, no statement of its transaction can run
 * on another connection. Statements are pipelined: each statement is sent at once, without waiting for the answer to the previous
 * statement.
 */

/**
 * Time limits, ms. The database server enforces `statementMs`, `lockMs` and `idleInTransactionMs`, so these limits also end the work of a
 * process that has stopped.
 */
export interface PostgresBounds {
  readonly statementMs: number;
  readonly lockMs: number;
  readonly idleInTransactionMs: number;
  readonly connectMs: number;
  /** If the database sends nothing for this long, the connection is closed. */
  readonly silenceMs: number;
}

/** With these limits a transaction ends long before another instance can take the slot of its process (`store/lease.ts`). */
export const USUAL_BOUNDS: PostgresBounds = {
  statementMs: 10_000,
  lockMs: 5_000,
  // Between two statements, transactions of Signalbox wait only for the event loop. A transaction that is idle for longer belongs to a
  // process that hangs.
  idleInTransactionMs: 2_000,
  connectMs: 5_000,
  silenceMs: 15_000,
};

/**
 * The value of a database column that is sent or received. 64-bit integers are received as numbers: all stored integers are within 2^53.
 */
export type PostgresValue = string | number | bigint | Uint8Array | Float64Array | null;

export interface PostgresResult<Row> {
  readonly rows: Row[];
  /** The number of rows that were changed or selected. */
  readonly count: number;
  /** The command tag of the server. The tag of a COMMIT is `ROLLBACK` if the transaction had failed before. */
  readonly command: string;
}

/** The number of prepared statements that a connection keeps. Further statements are parsed each time that they run. */
const PREPARED_MAX = 500;

const asNumber = (text: string): number => Number(text);
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  // A boolean value becomes 1 or 0, as in SQLite.
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Uint8Array.fromHex(text.slice(2)),
  20: asNumber,
  21: asNumber,
  23: asNumber,
  700: asNumber,
  701: asNumber,
  1700: asNumber,
};
const asText = (text: string): string => text;
const types: ClientConfig['types'] = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };

function configOf(address: PostgresAddress, bounds: PostgresBounds): ClientConfig {
  const { host, port, database, user, password, authorities } = address;
  const { connectMs, silenceMs } = bounds;
  return {
    host,
    port,
    database,
    user,
    password,
    ssl: authorities === null ? false : { rejectUnauthorized: true, ...(authorities !== '' && { ca: authorities }) },
    application_name: 'signalbox',
    client_encoding: 'UTF8',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    connectionTimeoutMillis: connectMs,
    query_timeout: silenceMs,
    pipeline: true,
    types,
  };
}

/**
 * The first statement of a session. Limits in the startup message would get lost in a pooler, and a pooler hides the process ID of the
 * server.
 */
const beginningOf = ({ statementMs, lockMs, idleInTransactionMs }: PostgresBounds): string =>
  `SELECT set_config('statement_timeout', '${statementMs}', false), set_config('lock_timeout', '${lockMs}', false),
    set_config('idle_in_transaction_session_timeout', '${idleInTransactionMs}', false), pg_backend_pid() AS backend`;

/** Writes a value as a literal. PostgreSQL infers the type of the literal from its context, as it does for a parameter. */
export function literalOf(value: PostgresValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return escapeLiteral(value);
  if (!ArrayBuffer.isView(value)) return `'${value}'`;
  return escapeLiteral(`\\x${hexOf(value)}`);
}

/** Writes an array in the text form of PostgreSQL. */
export const arrayOf = (values: readonly (PostgresValue | boolean)[]): string => `{${values.map(elementOf).join(',')}}`;

/** Matches characters that JSON may escape differently from PostgreSQL arrays. */
const ODD = /[^ -\ud7ff\ue000-\uffff]/;

function elementOf(value: PostgresValue | boolean): PostgresValue | boolean {
  if (value === null) return 'NULL';
  // `JSON.stringify` is several times as fast as `replace`, which matters for the long bodies of records.
  if (typeof value === 'string')
    return ODD.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : JSON.stringify(value);
  return ArrayBuffer.isView(value) ? `"\\\\x${hexOf(value)}"` : value;
}

const hexOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Float64Array): string =>
  new Uint8Array(buffer, byteOffset, byteLength).toHex();

/** A connection to the database, which works until it is closed or lost. */
export class Connection {
  readonly #client: Client;
  /** The names of prepared statements, by their text. */
  readonly #names = new Map<string, string>();
  readonly #lost: (() => void)[] = [];
  #isLost = false;
  #backend: number | null = null;

  private constructor(client: Client) {
    this.#client = client;
    client.on('error', () => this.#lose());
    client.on('end', () => this.#lose());
  }

  /** @throws StoreError of one sentence, by rejecting */
  static async open(address: PostgresAddress, bounds: PostgresBounds = USUAL_BOUNDS): Promise<Connection> {
    const client = new Client(configOf(address, bounds));
    const connection = new Connection(client);
    try {
      await client.connect();
      await connection.#begin(bounds);
      return connection;
    } catch (cause) {
      client.end().catch(() => {});
      throw cause instanceof StoreError ? cause : failureOf(`Cannot reach the database ${placeAt(address)}`, cause);
    }
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** The process ID of the database server's process for this connection. */
  get backend(): number | null {
    return this.#backend;
  }

  /** True if a pooler is between Signalbox and the database: a pooler reports its own process ID. */
  get isPooled(): boolean {
    return this.#backend !== this.#client.processID;
  }

  /** Calls the listener once when the connection is lost, or at once if the connection is already lost. */
  onLost(listener: () => void): void {
    if (this.#isLost) listener();
    else this.#lost.push(listener);
  }

  /**
   * Runs one statement.
   * @throws the error of the driver, by rejecting; `fault.ts` classifies it
   */
  async run<Row>(text: string, values: readonly PostgresValue[] = []): Promise<PostgresResult<Row>> {
    const name = this.#nameOf(text);
    const sent = this.#client.query<Row>({ text, values: [...values], ...(name && { name }) });
    const { rows, rowCount, command } = await sent.catch((cause: unknown) => this.#failed(cause));
    return { rows, count: rowCount ?? 0, command };
  }

  /** Runs a text of one or more statements without values, as unprepared statements. */
  async script(text: string): Promise<PostgresResult<never>> {
    const { rows, rowCount, command } = await this.#client.query<never>(text);
    return { rows, count: rowCount ?? 0, command };
  }

  /** Subscribes to the messages of a channel. */
  async listen(channel: string, heard: (message: string) => void): Promise<void> {
    this.#client.on('notification', (message) => {
      if (message.channel === channel) heard(message.payload ?? '');
    });
    await this.#client.query(`LISTEN ${escapeIdentifier(channel)}`);
  }

  /** Closes the connection. Statements without an answer are lost. Never rejects. */
  async close(): Promise<void> {
    await this.#client.end().catch((cause) => messageOf(cause));
  }

  /** Requests the process ID again. It changes if a pooler assigns each transaction to another server process. */
  async backendNow(): Promise<number | null> {
    const { rows } = await this.#client.query<{ backend: number }>('SELECT pg_backend_pid() AS backend');
    return rows[0]?.backend ?? null;
  }

  async #begin(bounds: PostgresBounds): Promise<void> {
    const text = beginningOf(bounds);
    // The timeout is short, because a pooler accepts a connection even if it has no free connection to the server.
    const { rows } = await this.#client.query<{ backend: number }>({ text, query_timeout: bounds.connectMs });
    this.#backend = rows[0]?.backend ?? null;
  }

  #failed(cause: unknown): never {
    if (isReadOnly(cause)) {
      this.#lose();
      void this.close();
    }
    throw cause;
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    for (const tell of this.#lost) tell();
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= PREPARED_MAX) return known;
    const name = `s${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}
