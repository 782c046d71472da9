import { describe, expect, test } from 'bun:test';
import { parseCommand } from '../../../src/cli/options.ts';
import { policiesAt } from '../../support/policies.ts';
import { textOf } from './manifests.ts';

/** Returns the settings of a unit by section; a repeated setting adds to its list. */
function unitOf(text: string): Map<string, Map<string, string[]>> {
  const sections = new Map<string, Map<string, string[]>>();
  let section = new Map<string, string[]>();
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [, title] = /^\[(\w+)\]$/.exec(line) ?? [];
    if (title !== undefined) {
      section = new Map();
      sections.set(title, section);
    } else {
      const [, key, value = ''] = /^(\w+)=(.*)$/.exec(line) ?? [];
      if (key === undefined) throw new Error(`No setting: ${line}`);
      section.set(key, [...(section.get(key) ?? []), value]);
    }
  }
  return sections;
}

const service = unitOf(textOf('deploy/systemd/signalbox.service')).get('Service') ?? new Map<string, string[]>();
const env = Object.fromEntries(
  (service.get('Environment') ?? []).flatMap((line) => line.split(' ').map((pair) => pair.split('='))),
);

describe('The systemd unit', () => {
  test('starts a server with valid arguments, on folders that it may use', () => {
    expect(service.get('ExecStart')).toEqual(['/usr/local/bin/signalbox serve']);
    expect(parseCommand(['serve'], env, policiesAt('none'))).toMatchObject({
      options: {
        host: '127.0.0.1',
        port: 8787,
        data: `/var/lib/${service.get('StateDirectory')}`,
        policies: '/etc/signalbox/policies',
        log: 'json',
      },
    });
    expect(textOf('deploy/systemd/signalbox.sysusers')).toContain(`u ${service.get('User')} `);
  });

  test('reads the policy again on a reload, lets requests finish on a stop, and restarts after a crash', () => {
    expect(service.get('ExecReload')).toEqual(['/bin/kill -HUP $MAINPID']);
    expect(service.get('KillSignal')).toEqual(['SIGTERM']);
    expect(service.get('Restart')).toEqual(['on-failure']);
  });

  test('reads keys from an optional file, and contains none', () => {
    expect(service.get('EnvironmentFile')).toEqual(['-/etc/signalbox/keys.env']);
    expect(Object.keys(env).filter((name) => name.endsWith('_KEY'))).toEqual([]);
  });

  test('gives the process the rights that it needs, and no other', () => {
    for (const [name, value] of Object.entries({
      ProtectSystem: 'strict',
      ProtectHome: 'yes',
      NoNewPrivileges: 'yes',
      CapabilityBoundingSet: '',
      SystemCallArchitectures: 'native',
      StateDirectoryMode: '0700',
      UMask: '0077',
      LimitCORE: '0',
    }))
      expect([name, service.get(name)]).toEqual([name, [value]]);
    // JavaScript is compiled at run time, which needs memory that is both writable and executable.
    expect(service.has('MemoryDenyWriteExecute')).toBe(false);
  });
});
