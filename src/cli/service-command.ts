import { findText, readLocal } from '../config/load.ts';
import type { FrameConfig } from '../config/service.ts';
import { loadSettings } from '../discovery/settings.ts';
import type { Service } from '../service/define.ts';
import { runService } from '../service/run.ts';
import type { Command, Environment } from './command.ts';
import { findUnknownNames } from './config-names.ts';
import { readOptions } from './options.ts';

/** Returns the command of a service: it runs the service until a signal, or does what an option orders. */
export function serviceCommand(service: Service): Command {
  const { name, command, summary, variables, checks, options = {} } = service;
  return {
    name: command,
    summary,
    variables,
    checks,
    options,

    async run(argv: readonly string[], env: Environment): Promise<number> {
      const asked: Readonly<Record<string, unknown>> = readOptions(argv, options);
      const local = readLocal(variables, env);
      const loaded = await loadSettings({ name: command, variables, checks }, env);
      const order = Object.entries(options).find(([option, { order }]) => order && asked[option])?.[1];
      if (order) {
        const { text, exitCode = 0 } = await order.order!(loaded.values);
        console.log(text);
        return exitCode;
      }
      const unknown = await findUnknownNames(local.file);
      const isSet = (variable: string) => findText(variable, local).text !== undefined;
      const warnings = [...loaded.warnings, ...unknown, ...(service.findWarnings?.(loaded.values, isSet) ?? [])];
      return await runService({
        name,
        warnings,
        config: loaded.values as unknown as FrameConfig, // every service has its variables
        start: (log, signal) => service.start(loaded.values, { service, log, signal, local, options: asked })
      });
    }
  };
}
