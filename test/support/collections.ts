/**
 * Loaded before every test (`bunfig.toml`). Elysia requests a garbage collection for each application that it compiles, and three
 * for a server that starts. In a process that has run hundreds of tests each one takes 20 ms and frees little. A test that
 * forces a collection gets it.
 */
const collect = Bun.gc;
Object.defineProperty(Bun, 'gc', { value: (force = false) => (force ? collect(true) : undefined) });
