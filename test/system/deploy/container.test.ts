import { describe, expect, test } from 'bun:test';
import { dirname, join } from 'node:path';
import { LICENCES_FILE } from '../../../deploy/licences.ts';
import { parseCommand } from '../../../src/cli/options.ts';
import { policiesAt } from '../../support/policies.ts';
import { faultsOfCompose, instructionsOf, textOf, yamlOf } from './manifests.ts';

/** The time after the drain that an operator gives to a collector of traces and a reader of the log (docs/operate/deploy.md), ms. */
const FAREWELL_MS = 10_000;

const instructions = instructionsOf(textOf('Dockerfile'));
const restsOf = (wanted: string) => instructions.filter(({ name }) => name === wanted).map(({ rest }) => rest);
const lastStage = instructions.slice(instructions.findLastIndex(({ name }) => name === 'FROM'));
const env = Object.fromEntries(restsOf('ENV').flatMap((rest) => rest.split(' ').map((pair) => pair.split('='))));
const compose = textOf('compose.yaml');
const { signalbox } = yamlOf('compose.yaml').services;
const pod = yamlOf('deploy/kubernetes/statefulset.yaml').spec.template.spec;
const unit = textOf('deploy/systemd/signalbox.service');
const defaults = parseCommand(['serve'], {}, policiesAt('policies'));
const inImage = parseCommand(['serve'], env, policiesAt('policies'));

describe('The Dockerfile', () => {
  test('the Dockerfile uses known instructions and two stages; the last stage has neither npm nor sources', () => {
    const known = ['ARG', 'CMD', 'COPY', 'ENTRYPOINT', 'ENV', 'EXPOSE', 'FROM', 'HEALTHCHECK', 'LABEL', 'RUN'];
    const odd = instructions.filter(
      ({ name }) => ![...known, 'STOPSIGNAL', 'USER', 'VOLUME', 'WORKDIR'].includes(name),
    );
    expect(odd).toEqual([]);
    expect(restsOf('FROM').map((rest) => /^\S+:[\w.-]+( AS \w+)?$/.test(rest))).toEqual([true, true]);
    const copied = lastStage.filter(({ name }) => name === 'COPY').map(({ rest }) => rest);
    expect(copied.every((rest) => rest.startsWith('--from=build '))).toBe(true);
    expect(copied.join()).toContain(`/out/${LICENCES_FILE} `);
    // The image has no shell to run a command with.
    expect(lastStage.some(({ name }) => name === 'RUN')).toBe(false);
    for (const name of ['HEALTHCHECK', 'ENTRYPOINT', 'CMD']) expect(restsOf(name).join()).toMatch(/\[".*"\]$/);
  });

  test('the image starts a server that other hosts can reach, with valid arguments, and not as root', () => {
    const [, uid, gid] = /^(\d+):(\d+)$/.exec(restsOf('USER').at(-1) ?? '') ?? [];
    expect(Number(uid)).toBeGreaterThan(0);
    expect(inImage).toMatchObject({ options: { host: '0.0.0.0', port: 8787, data: '/data', log: 'json' } });
    expect(restsOf('EXPOSE')).toEqual(['8787']);
    expect(restsOf('VOLUME')).toEqual(['/data']);
    expect(restsOf('COPY').at(-1)).toBe(`--from=build --chown=${uid}:${gid} /out/data /data`);
    expect(pod.securityContext).toMatchObject({
      runAsUser: Number(uid),
      runAsGroup: Number(gid),
      fsGroup: Number(gid),
    });
  });

  test('the image contains only what the build reads: no key, no data, and of git only the commit', () => {
    const lines = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(lines[0]).toBe('*');
    expect(lines).toContain('**/.env*');
    const taken = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    for (const needed of ['package.json', 'package-lock.json', 'deploy/build.ts', 'src', 'plugins', 'policies', 'docs'])
      expect(taken).toContain(needed);
    // Each module of this repository that the build runs, along its imports.
    const modules = new Set(['deploy/build.ts']);
    for (const module of modules)
      for (const { path } of new Bun.Transpiler({ loader: 'ts' }).scanImports(textOf(module)))
        if (path.startsWith('.') && path.endsWith('.ts')) modules.add(join(dirname(module), path));
    expect(modules.size).toBeGreaterThan(3);
    const isTaken = (path: string) => taken.some((one) => path === one || path.startsWith(`${one}/`));
    expect([...modules].filter((path) => !isTaken(path))).toEqual([]);
    const ofGit = ['.git/HEAD', '.git/packed-refs', '.git/refs/heads'];
    expect(taken.filter((path) => /^\.|test/.test(path))).toEqual(ofGit);
    expect(restsOf('RUN').at(-1)).toContain('--commit "$REVISION"');
  });
});

describe('compose.yaml', () => {
  test('compose.yaml follows the Compose schema', () => {
    expect(faultsOfCompose(compose)).toEqual([]);
  });

  test.each([
    ['a misspelled key', 'cap_drop', 'cap_drops', 'cap_drops'],
    ['a text for a truth', 'read_only: true', 'read_only: certainly', '/services/signalbox/read_only must be boolean'],
    ['a key at the wrong depth', '    read_only: true', '    healthcheck2: {}\n    read_only: true', 'healthcheck2'],
    ['a text for a list', 'cap_drop: [ALL]', 'cap_drop: ALL', '/services/signalbox/cap_drop must be array'],
  ])('the check finds a mistake: %s', (_what, from, to, fault) => {
    expect(compose).toContain(from);
    expect(faultsOfCompose(compose.replace(from, to)).join('\n')).toContain(fault);
  });

  test('compose.yaml gives the process no unneeded right, and listens on no outside address', () => {
    expect(signalbox).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      ulimits: { nofile: 65536, core: 0 },
      ports: ['127.0.0.1:8787:8787'],
      volumes: [
        'data:/data',
        {
          type: 'bind',
          source: `\${SIGNALBOX_POLICIES:-./policies}`,
          target: '/policies',
          read_only: true,
          bind: { create_host_path: false },
        },
      ],
    });
    expect(signalbox.environment.SIGNALBOX_POLICIES).toBe('/policies');
  });

  test('compose.yaml forwards a key for each internet provider in the shipped policy, and contains none', () => {
    const { SIGNALBOX_POLICIES: _policies, SIGNALBOX_API_KEY: own, ...keys } = signalbox.environment;
    const named = textOf('policies/providers.yaml').match(/\b[A-Z0-9_]+_API_KEY\b/g) ?? [];
    expect(named.length).toBeGreaterThan(10);
    expect(
      Object.keys(keys)
        .filter((name) => name.endsWith('_API_KEY'))
        .sort(),
    ).toEqual([...new Set(named)].sort());
    expect([own, ...Object.values(keys)].every((value) => value === null)).toBe(true);
  });

  test('compose.yaml checks health as the image does', () => {
    const { test: asked, interval, timeout, start_period, retries } = signalbox.healthcheck;
    const command = JSON.stringify(asked.slice(1)).replaceAll(',', ', ');
    expect(restsOf('HEALTHCHECK')).toEqual([
      `--interval=${interval} --timeout=${timeout} --start-period=${start_period} --retries=${retries} CMD ${command}`,
    ]);
  });
});

test('every supervisor waits longer than the server waits for requests in progress', () => {
  const drainMs = defaults.name === 'serve' ? defaults.options.drainMs : Number.NaN;
  const graces = {
    compose: Number.parseInt(signalbox.stop_grace_period, 10),
    kubernetes: pod.terminationGracePeriodSeconds,
    systemd: Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]),
  };
  for (const seconds of Object.values(graces)) expect(seconds * 1000).toBeGreaterThanOrEqual(drainMs + FAREWELL_MS);
  expect(Object.values(graces)).toEqual([40, 40, 40]);
});

test('every deployment uses the program’s default port', () => {
  const port = defaults.name === 'serve' ? defaults.options.port : Number.NaN;
  expect(env.PORT).toBe(`${port}`);
  expect(pod.containers[0].ports).toEqual([{ name: 'http', containerPort: port, protocol: 'TCP' }]);
  expect(yamlOf('deploy/kubernetes/service.yaml').spec.ports[0]).toMatchObject({ port, targetPort: 'http' });
  expect(unit).toContain(`PORT=${port} `);
});
