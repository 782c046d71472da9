import { createRequire } from 'node:module';

/** Returns the path of the program for this machine. The main package depends on one package for each platform. */
function anvilPath(): string {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const name = `@foundry-rs/anvil-${process.platform}-${architecture}/bin/anvil${process.platform === 'win32' ? '.exe' : ''}`;
  // The platform's package is a dependency of the main package, and may be inside its folder.
  const beside = createRequire(createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json'));
  return beside.resolve(name);
}

export interface Anvil {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a separate, empty chain on a free port of this machine. The chain mines each transaction at once. */
export async function startAnvil(chainId: number): Promise<Anvil> {
  const args = ['--host', '127.0.0.1', '--port', '0', '--chain-id', String(chainId), '--accounts', '1'];
  const child = Bun.spawn([anvilPath(), ...args], { stdout: 'pipe', stderr: 'pipe' });
  const kill = () => child.kill('SIGKILL');
  process.on('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    kill();
    await child.exited;
  };
  try {
    return { url: await listening(child), pid: child.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Reads the output up to the address, and discards the rest. */
async function listening(child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>): Promise<string> {
  const decoder = new TextDecoder();
  const reader = child.stdout.getReader();
  let printed = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`anvil ended: ${printed}${await new Response(child.stderr).text()}`);
    printed += decoder.decode(value, { stream: true });
    const [, address] = /Listening on (\S+)/.exec(printed) ?? [];
    if (address === undefined) continue;
    void (async () => {
      while (!(await reader.read()).done);
    })();
    return `http://${address}`;
  }
}
