// Drift, played in C#: fifty numbers wander, and eight of them can be picked. Ends when 20 games in a row earn 350 each.
//
//   mcs Understudy.cs Drift.cs -out:Drift.exe && mono Drift.exe http://127.0.0.1:8178

using System;
using System.Collections.Generic;
using System.Linq;

public static class Drift
{
    private const int Features = 50, Actions = 8, Length = 300, Last = 20, MostGames = 20000;
    private const double Goal = 350;
    private static readonly Random random = new Random(50);

    private static float Normal()
    {
        return (float)(Math.Sqrt(-2 * Math.Log(1 - random.NextDouble())) * Math.Cos(2 * Math.PI * random.NextDouble()));
    }

    public static int Main(string[] arguments)
    {
        var us = new Understudy.Client(arguments[0]);
        us.Hello(Enumerable.Range(0, Features).Select(i => "x" + i), Enumerable.Range(0, Actions).Select(i => "PICK_" + i));
        var push = Enumerable.Range(0, Actions).Select(_ => Enumerable.Range(0, Features).Select(i => 0.05f * Normal()).ToArray()).ToArray();
        var returns = new Queue<double>();
        for (int played = 1; played <= MostGames; played++)
        {
            var game = us.Begin(new Dictionary<string, string> { { "game", "drift" } });
            var x = Enumerable.Range(0, Features).Select(i => Normal()).ToArray();
            double total = 0;
            float reward = 0;
            for (int step = 0; step < Length; step++)
            {
                int action = game.Act(x, reward).Action;
                total += reward = x[action];
                for (int i = 0; i < Features; i++) x[i] = 0.9f * x[i] + 0.436f * Normal() + push[action][i];
            }
            game.End("Unknown", reward, x);
            returns.Enqueue(total);
            if (returns.Count > Last) returns.Dequeue();
            if (returns.Count == Last && returns.Average() >= Goal)
            {
                Console.WriteLine("reached {0:0} after {1} games", returns.Average(), played);
                return 0;
            }
        }
        Console.Error.WriteLine("The goal was not reached in {0} games.", MostGames);
        return 1;
    }
}
