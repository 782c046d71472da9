import { describe, expect, test } from 'bun:test';
import { usePaid } from '../support/paying.ts';

/** Every route and command that accepts the address of a wallet accepts the same forms, and names the field when it refuses one. */
const paid = usePaid();

/** An example of EIP-55. */
const RIGHT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
/** A valid address with its first capital letter changed. */
const MISTYPED = '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
const FORMS = [RIGHT, RIGHT.toLowerCase(), `0x${RIGHT.slice(2).toUpperCase()}`];
const WRONG = [MISTYPED, '0x123', 'agent-7', ''];

const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 10 };

async function errorOf(
  response: Response,
): Promise<{ readonly code: string; readonly param: string | null; readonly message: string }> {
  const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } };
  return error;
}

describe('`agent_wallet`', () => {
  test.each(['with a key', 'without a key'])(
    'is checked in the same way %s: its form and its checksum',
    async (door) => {
      const ask = (agent_wallet: string) =>
        door === 'with a key'
          ? paid.box.post('/v1/chat/completions', { ...body, agent_wallet })
          : paid.ask({ ...body, agent_wallet });
      for (const form of FORMS) {
        const response = await ask(form);
        await response.text();
        expect(response.status).toBe(door === 'with a key' ? 200 : 402);
      }
      for (const wrong of WRONG) {
        const response = await ask(wrong);
        expect(response.status).toBe(400);
        const { code, param, message } = await errorOf(response);
        expect({ code, param }).toEqual({ code: 'invalid_value', param: 'agent_wallet' });
        expect(message).toMatch(/0x and 40 hexadecimal digits.*EIP-55/);
      }
    },
  );

  test('/v1/route checks an address like the chat route', async () => {
    const route = (agent_wallet: string) => paid.box.post('/v1/route', { ...body, agent_wallet });
    expect((await route(RIGHT)).status).toBe(200);
    for (const wrong of WRONG) expect(await errorOf(await route(wrong))).toMatchObject({ param: 'agent_wallet' });
  });
});

describe('operators', () => {
  test('HTTP routes accept the same forms of a wallet’s address', async () => {
    const credit = (wallet: string) => paid.box.post(`/admin/wallets/${wallet}/credit`, { credits: 1, note: 'a gift' });
    for (const form of FORMS) expect((await credit(form)).status).toBe(200);
    expect(await paid.balanceOf(RIGHT.toLowerCase())).toBe(FORMS.length);
    expect((await credit(MISTYPED)).status).toBe(404);
    for (const path of [`/admin/payments?wallet=${MISTYPED}`, `/admin/trail?key=${MISTYPED}`]) {
      expect(await errorOf(await paid.box.get(path))).toMatchObject({ code: 'invalid_value' });
    }
    const refused = await errorOf(await paid.box.post('/admin/keys', { wallets: [RIGHT, MISTYPED] }));
    expect(refused).toMatchObject({ code: 'invalid_value', param: 'wallets[1]' });
    expect(refused.message).not.toContain(MISTYPED.slice(2));
  });

  test('commands accept the same forms of a wallet’s address', async () => {
    expect((await paid.box.run('wallets', 'credit', RIGHT, '1', '--note', 'a gift')).code).toBe(0);
    for (const args of [
      ['wallets', 'credit', MISTYPED, '1', '--note', 'a gift'],
      ['wallets', 'show', MISTYPED],
      ['keys', 'create', '--wallet', MISTYPED],
      ['keys', 'log', '--key', MISTYPED],
    ]) {
      const { code, err } = await paid.box.run(...args);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(err).toMatch(/^signalbox: .*(?:EIP-55|Give only the ID of the key)/);
    }
  });

  test('a policy that pays to a mistyped address cannot be activated', async () => {
    const mistyped = paid.policy.replace(/pay_to: "?0x[0-9a-fA-F]{40}"?/, `pay_to: "${MISTYPED}"`);
    expect(mistyped).not.toBe(paid.policy);
    await expect(paid.reload(mistyped)).rejects.toThrow();
    const { diagnostics } = (
      (await (await paid.box.get('/admin/policy')).json()) as { last_reload: { diagnostics: object[] } }
    ).last_reload;
    expect(diagnostics).toMatchObject([
      { code: 'bad-form', line: mistyped.split('\n').findIndex((line) => line.includes(MISTYPED)) + 1 },
    ]);
  });
});
