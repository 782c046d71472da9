import { describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseCommand } from '../../src/cli/options.ts';
import { addressOf } from '../../src/store/postgres/address.ts';
import { temporaryFolder } from '../support/signalbox.ts';
import { faultsOfCompose } from './compose.ts';
import { textOf, yamlOf } from './manifests.ts';

const text = textOf('deploy/compose/compose.yaml');
const { services, secrets, volumes, networks } = parse(text, { merge: true });
const { proxy, database, ...servers } = services;
const caddyfile = textOf('deploy/compose/Caddyfile');
const alone = yamlOf('compose.yaml').services.signalbox;

describe('deploy/compose', () => {
  test('keeps the schema of Compose, which finds mistakes within what servers share', () => {
    expect(faultsOfCompose(text)).toEqual([]);
    for (const [from, to] of [
      ['  cap_drop: [ALL]\n  security', '  cap_drops: [ALL]\n  security'],
      ['condition: service_healthy', 'condition: service_well'],
    ] as const) {
      expect(text).toContain(from);
      expect(faultsOfCompose(text.replace(from, to))).not.toEqual([]);
    }
  });

  test('runs two servers as the file of one does, each with a folder of its own', () => {
    expect(Object.keys(servers)).toEqual(['signalbox-1', 'signalbox-2']);
    const { build: _, ports, volumes: own, environment, ...rest } = alone;
    for (const one of Object.values<Record<string, unknown>>(servers)) expect(one).toMatchObject(rest);
    const folders = Object.values<{ volumes: [string, unknown] }>(servers).map(({ volumes: [data] }) => data);
    expect(folders).toEqual(['data-1:/data', 'data-2:/data']);
    for (const folder of folders) expect(Object.keys(volumes)).toContain(folder.split(':')[0]!);
    expect(servers['signalbox-1'].volumes[1]).toEqual({ ...own[1], source: `\${SIGNALBOX_POLICIES:-../../policies}` });
    // They are reached by the proxy alone.
    expect(servers['signalbox-1'].ports).toBeUndefined();
    expect(proxy.ports).toEqual(ports);
    expect(environment.SIGNALBOX_POLICIES).toBe(servers['signalbox-1'].environment.SIGNALBOX_POLICIES);
  });

  test('names the database as the program understands it, with the password that the database has', () => {
    const { environment } = servers['signalbox-1'];
    const command = parseCommand(['serve'], environment, () => 'policies');
    expect(command).toMatchObject({ options: { policies: '/policies', database: environment.DATABASE_URL } });
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'secrets'));
    writeFileSync(join(folder, 'secrets/database'), 'worthless\n');
    const { POSTGRES_USER: user, POSTGRES_DB: name, POSTGRES_PASSWORD_FILE: file } = database.environment;
    expect(environment.DATABASE_URL).toContain(`password_file=${file}`);
    const address = addressOf(environment.DATABASE_URL.replace(file, join(folder, secrets.database.file)));
    expect(address).toMatchObject({ host: 'database', port: 5432, database: name, user, authorities: null });
    expect(address.password()).toBe('worthless');
    for (const one of [database, ...Object.values<{ secrets: string[] }>(servers)])
      expect(one.secrets).toEqual(['database']);
    rmSync(folder, { recursive: true });
  });

  test('has the proxy know both servers, and wait for no program longer than for its requests', () => {
    const [, upstreams] = /reverse_proxy (.*) \{/.exec(caddyfile) ?? [];
    expect(upstreams?.split(' ')).toEqual(Object.keys(servers).map((name) => `${name}:8787`));
    expect(proxy.depends_on).toEqual(Object.keys(servers));
    const grace = Number(/grace_period (\d+)s/.exec(caddyfile)?.[1]);
    expect(Number.parseInt(proxy.stop_grace_period, 10)).toBeGreaterThan(grace);
    // The page tells the policy to trust it.
    expect(networks.default.ipam.config).toHaveLength(1);
  });
});
