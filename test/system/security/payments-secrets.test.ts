import { expect, test } from 'bun:test';
import type { ClientPayment } from '../../payments/model/signed.ts';
import { filesOf, wholeOf } from '../../security/canary-support.ts';
import { chatBody, type Stand, startStand } from '../payments/model/stand.ts';

/** The number of consecutive characters of a secret that must not appear anywhere. */
const PIECE = 16;
const PART = 8;
const secretText = () => `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll('-', '');

/** Looks for pieces of secrets in texts. */
class Finder {
  readonly found: string[] = [];
  /**
   * The pieces of secrets, with their names, indexed by a part that each piece contains. The search looks for the few parts first, and for
   * pieces where it finds a part.
   */
  readonly #pieces = new Map<string, [piece: string, name: string][]>();

  add(name: string, secret: string): string {
    const digits = secret.replace(/^0x/, '');
    for (const written of [digits, digits.toUpperCase()])
      for (let at = 0; at + PIECE <= written.length; at++) {
        const from = Math.ceil(at / (PIECE - PART + 1)) * (PIECE - PART + 1);
        const part = written.slice(from, from + PART);
        const pieces = this.#pieces.get(part) ?? [];
        this.#pieces.set(part, pieces);
        pieces.push([written.slice(at, at + PIECE), name]);
      }
    return secret;
  }

  look(where: string, text: string): void {
    const names = new Set<string>();
    for (const [part, pieces] of this.#pieces)
      if (text.includes(part)) for (const [piece, name] of pieces) if (text.includes(piece)) names.add(name);
    for (const name of names) this.found.push(`${name} in ${where}`);
  }
}

const ELSEWHERE = (token: string) => `      - id: eip155:11155111
        asset: { address: "${token}", name: USDC, version: "2", decimals: 6 }
        pay_to: "0x52908400098527886E0F7030069857D2E4169EE7"
        rpc_urls_env: OTHER_RPC
        facilitator: { mode: http, url: "http://127.0.0.1:9", timeout_ms: 1000, bearer_env: X402_BEARER }
`;

async function lookAround({ box }: Stand, finder: Finder, when: string): Promise<void> {
  const paths = ['/docs/json', '/docs', '/metrics', '/readyz', '/.well-known/x402', '/v1/payments/pay_00000000000'];
  const admin = ['/admin/policy', '/admin/payments', '/admin/ledger', '/admin/trail', '/admin/keys', '/v1/usage'];
  for (const path of paths) finder.look(`${when}: ${path}`, await wholeOf(await fetch(box.url + path)));
  for (const path of admin) finder.look(`${when}: ${path}`, await wholeOf(await box.get(path)));
  const list = (await (await box.get('/admin/payments')).json()) as {
    readonly data?: readonly { readonly id: string }[];
  };
  const payment = list.data?.[0];
  if (payment) {
    finder.look(`${when}: a payment`, await wholeOf(await box.get(`/v1/payments/${payment.id}`)));
    const reconciled = await box.post(`/admin/payments/${payment.id}/reconcile`, undefined);
    finder.look(`${when}: reconcile`, await wholeOf(reconciled));
  }
  finder.look(`${when}: log`, box.lines.join('\n'));
}

test('no fault reveals the gas key, the token, the keys in nodes’ addresses or a signature, and the database does not contain them', async () => {
  const finder = new Finder();
  const bearer = finder.add('the bearer', secretText());
  const otherRpc = finder.add('the key of the other node', secretText());
  const stand = await startStand({
    confirmationMs: 1_200,
    rpcPath: `/v2/${finder.add('the key of the node', secretText())}`,
    networks: ELSEWHERE,
    env: { X402_BEARER: bearer, OTHER_RPC: `http://user:${otherRpc}@127.0.0.1:9/rpc` },
  });
  finder.add('the gas key', stand.chain.gasKey);
  const { proxy, chain } = stand;
  const payer = await chain.payer(1_000_000_000n);
  let requests = 0;
  const drive = async (name: string, tamper: (paid: ClientPayment) => string = ({ header }) => header) => {
    const body = chatBody(++requests);
    const paid = await stand.sign(payer, body);
    finder.add(`the signature of ${name}`, paid.payload.payload.signature);
    finder.look(`answer: ${name}`, await wholeOf(await stand.send(body, tamper(paid))));
  };
  try {
    await drive('a good one');
    await drive('one in a header that is cut', ({ header }) => header.slice(0, -8));
    await drive('one with rubbish behind it', ({ header }) => `${header}!`);
    for (const fault of ['error', 'status', 'garbage', 'cut', 'lost', 'hang'] as const) {
      const body = chatBody(++requests);
      const quoted = await stand.sign(payer, body);
      finder.add(`the signature of ${fault}`, quoted.payload.payload.signature);
      proxy.fail(fault);
      const answers = [stand.post('/v1/chat/completions', chatBody(++requests)), stand.send(body, quoted.header)];
      for (const answer of answers) finder.look(`answer: ${fault}`, await wholeOf(await answer));
      proxy.fail(null);
    }
    await proxy.down();
    await lookAround(stand, finder, 'the node down');
    await proxy.up();
    await stand.settled();
    await chain.automine(false);
    await drive('one under way');
    await lookAround(stand, finder, 'one under way');
    expect(textOfTables(stand, finder)).toBeGreaterThan(0);
    await chain.automine(true);
    await chain.mine();
    await stand.settled();
    await lookAround(stand, finder, 'the end');
    expect(textOfTables(stand, finder)).toBeGreaterThan(0);
    stand.box.signal('SIGTERM');
    await stand.box.exited;
    finder.look('log of the end', stand.box.lines.join('\n'));
    for (const { name, text } of filesOf(stand.data)) finder.look(name, text);
    expect(finder.found).toEqual([]);
  } finally {
    await stand.stop();
  }
});

/** Searches every value of every table, as a reader of the database would see it. Returns the number of tables. */
function textOfTables(stand: Stand, finder: Finder): number {
  const tables = stand.query<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  for (const { name } of tables) {
    const rows = stand.query<Record<string, unknown>>(`SELECT * FROM "${name}"`);
    const text = rows.flatMap((row) =>
      Object.values(row).map((value) =>
        value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
      ),
    );
    finder.look(`table ${name}`, text.join('\n'));
  }
  return tables.length;
}
