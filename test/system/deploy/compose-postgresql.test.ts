import { expect, test } from 'bun:test';
import { parse } from 'yaml';
import { addressOf } from '../../../src/store/postgres/address.ts';
import { faultsOfCompose, textOf, yamlOf } from './manifests.ts';

const text = textOf('deploy/compose/compose.yaml');
// The parts of the file that the tests check.
const compose = parse(text, { merge: true });
const { 'signalbox-1': one, 'signalbox-2': two, proxy, database, prometheus } = compose.services;
const { signalbox: alone } = yamlOf('compose.yaml').services;
const haproxy = textOf('deploy/compose/haproxy.cfg');
const PASSWORD = '/run/secrets/database-password';

test('deploy/compose/compose.yaml follows the Compose schema, which finds a misspelled key', () => {
  expect(faultsOfCompose(text)).toEqual([]);
  for (const [from, to] of [
    ['shm_size', 'shm_sizes'],
    ['condition: service_healthy', 'condition: healthy'],
    ['{ file: ./secrets', '{ files: ./secrets'],
  ] as const) {
    expect(text).toContain(from);
    expect(faultsOfCompose(text.replace(from, to))).not.toEqual([]);
  }
});

test('each of the two servers equals the server of compose.yaml, except for its address, database and data folder', () => {
  const { ports: _, volumes: __, environment, build: ___, ...rest } = alone;
  for (const [server, folder] of [
    [one, 'data-1'],
    [two, 'data-2'],
  ] as const) {
    const { volumes, environment: own, secrets, depends_on, build, ...same } = server;
    expect(same).toEqual(rest);
    expect(build).toBe('../..');
    const { DATABASE_URL, ...passed } = own;
    expect(environment).toMatchObject(passed);
    expect(volumes[0]).toBe(`${folder}:/data`);
    expect(compose.volumes).toHaveProperty(folder);
    const { source, ...bind } = volumes[1];
    expect(source).toBe(`\${SIGNALBOX_POLICIES:-../../policies}`);
    expect(alone.volumes[1]).toMatchObject(bind);
    expect(secrets).toEqual(['database-password']);
    expect(depends_on).toEqual({ database: { condition: 'service_healthy' } });
    // Only the container has the file with the password.
    expect(addressOf(DATABASE_URL.replace(PASSWORD, import.meta.path))).toMatchObject({
      ...{ host: 'database', port: 5_432, authorities: null },
      ...{ database: database.environment.POSTGRES_DB, user: database.environment.POSTGRES_USER },
    });
    expect(new URL(DATABASE_URL).searchParams.get('password_file')).toBe(PASSWORD);
  }
});

test('the Compose file contains no secret, and publishes only the proxy and Prometheus, only on this machine', () => {
  expect(compose.secrets).toEqual({ 'database-password': { file: './secrets/database-password' } });
  expect(database.environment.POSTGRES_PASSWORD_FILE).toBe(PASSWORD);
  expect(textOf('deploy/compose/.gitignore').split('\n')).toContain('secrets/');
  const published = Object.values<{ ports?: string[] }>(compose.services).flatMap(({ ports = [] }) => ports);
  expect(published.sort()).toEqual(['127.0.0.1:8787:8787', '127.0.0.1:9090:9090']);
  expect(published).toEqual([...proxy.ports, ...prometheus.ports]);
});

test('the proxy checks the health of both servers and stops after them, and the database stops last', () => {
  const servers = [...haproxy.matchAll(/^ {4}server (\S+) (\S+)$/gm)].map(([, name, address]) => `${name} ${address}`);
  expect(servers).toEqual(['signalbox-1 signalbox-1:8787', 'signalbox-2 signalbox-2:8787']);
  expect(haproxy).toContain('http-check send meth GET uri /readyz ');
  expect(proxy.depends_on).toEqual(['signalbox-1', 'signalbox-2']);
  const [ofServers, ofProxy, ofDatabase] = [one, proxy, database].map((service) =>
    Number.parseInt(service.stop_grace_period, 10),
  );
  expect(ofProxy).toBeGreaterThan(ofServers!);
  expect(ofDatabase).toBeGreaterThan(ofServers!);
});

test('Prometheus scrapes both servers and has the alarms, and its files are in the repository', () => {
  const scrape = yamlOf('deploy/compose/prometheus.yaml');
  const { global, scrape_configs, rule_files } = yamlOf('deploy/prometheus.yaml');
  expect(scrape.global).toEqual(global);
  expect(scrape.rule_files).toEqual(rule_files);
  const [{ static_configs, ...job }] = scrape.scrape_configs;
  expect(job).toEqual({ job_name: scrape_configs[0].job_name });
  expect(static_configs).toEqual([{ targets: ['signalbox-1:8787', 'signalbox-2:8787'] }]);
  const binds = prometheus.volumes.filter((volume: unknown) => typeof volume === 'object');
  for (const { source, target } of binds) {
    expect(textOf(`deploy/compose/${source}`).length).toBeGreaterThan(100);
    expect(target).toBe(`/etc/prometheus/${source.split('/').at(-1)}`);
  }
  expect(binds).toHaveLength(2);
  expect(prometheus.command).toContain('--config.file=/etc/prometheus/prometheus.yaml');
});
