// Runs a state chart of the platform under XState, then prints what the charts of a running service do.
// Run: API_KEY=... node library-machines.ts http://127.0.0.1:3006
import { inspect, MACHINES } from 'platform-node/machines';
import { createActor } from 'xstate';

const breaker = createActor(MACHINES['circuitBreaker']!, {
  input: { failureThreshold: 3, cooldownMs: 1_000, trialTimeoutMs: 1_000 },
  inspect: ({ type }) => console.log(`here: ${type}`) // XState's own inspector sees it as any machine
});
breaker.start();
console.log(`circuitBreaker begins ${JSON.stringify(breaker.getSnapshot().value)}`);
breaker.stop();
console.log(`charts: ${Object.keys(MACHINES).join(', ')}`);

// The same events of a running service: an inspector of XState, such as @statelyai/inspect, takes them as they are.
const [service = ''] = process.argv.slice(2);
for await (const event of inspect({ service, key: process.env['API_KEY'] ?? '' })) {
  if (event.type === '@xstate.actor') console.log(`${event.name}: ${event.definition.length} letters of chart`);
  if (event.type === '@xstate.event') console.log(`${event.sessionId}: ${event.event.type}`);
}
