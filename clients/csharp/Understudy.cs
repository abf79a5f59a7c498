// Understudy for C# (.NET Framework 4.5, .NET and Mono; no packages): decisions from `understudy serve`, over HTTP.
//
//   var us = new Understudy.Client("http://127.0.0.1:8178");
//   us.Hello(new[] { "health", "gold" }, new[] { "LEFT", "RIGHT" });
//   var game = us.Begin(new Dictionary<string, string> { { "map", "Ridge" } });
//   Understudy.Decision d = game.Act(state, reward);
//   game.End("Victory", reward);

using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;

namespace Understudy
{
    public sealed class UnderstudyException : Exception
    {
        public UnderstudyException(string message) : base(message) { }
    }

    public struct Decision
    {
        public int Action;
        public float Probability, Value;
    }

    /// <summary>A connection to a sidecar. Games may be played in several threads, each game in one at a time.</summary>
    public sealed class Client
    {
        private readonly string url, token;
        private readonly int retries;

        public Client(string url = "http://127.0.0.1:8178", string token = null, int retries = 5)
        {
            this.url = url.TrimEnd('/') + "/v1/";
            this.token = token;
            this.retries = retries;
            ServicePointManager.Expect100Continue = false;
            ServicePointManager.UseNagleAlgorithm = false;
            ServicePointManager.DefaultConnectionLimit = Math.Max(ServicePointManager.DefaultConnectionLimit, 64);
        }

        /// <summary>Declare features and actions by name.</summary>
        public void Hello(IEnumerable<string> features, IEnumerable<string> actions)
        {
            AskJson("hello", "{\"features\":" + Names(features) + ",\"actions\":" + Names(actions) + "}");
        }

        /// <summary>Begin a game with notes such as map and opponent_id.</summary>
        public Game Begin(IDictionary<string, string> about = null)
        {
            string id = Guid.NewGuid().ToString("N");
            AskJson("begin", "{\"game\":\"" + id + "\",\"seq\":0,\"about\":" + Notes(about) + "}");
            return new Game(this, id);
        }

        public string Status()
        {
            var request = Request("status", "GET", "application/json");
            using (var response = request.GetResponse()) return Encoding.UTF8.GetString(Read(response));
        }

        internal string AskJson(string name, string json)
        {
            return Encoding.UTF8.GetString(Ask(name, Encoding.UTF8.GetBytes(json), "application/json"));
        }

        internal byte[] Ask(string name, byte[] content, string type)
        {
            for (int attempt = 0; ; attempt++)
            {
                try
                {
                    var request = Request(name, "POST", type);
                    request.ContentLength = content.Length;
                    using (var stream = request.GetRequestStream()) stream.Write(content, 0, content.Length);
                    using (var response = request.GetResponse()) return Read(response);
                }
                catch (WebException error)
                {
                    if (error.Response != null)
                        using (error.Response) throw new UnderstudyException(Encoding.UTF8.GetString(Read(error.Response)));
                    // The connection broke. Messages have numbers, so that a repeated one is not done twice.
                    if (attempt >= retries) throw;
                    Thread.Sleep(100 << attempt);
                }
            }
        }

        private HttpWebRequest Request(string name, string method, string type)
        {
            var request = (HttpWebRequest)WebRequest.Create(url + name);
            request.Method = method;
            request.ContentType = type;
            request.Proxy = null;
            if (token != null) request.Headers["Authorization"] = "Bearer " + token;
            return request;
        }

        private static byte[] Read(WebResponse response)
        {
            using (var stream = response.GetResponseStream())
            using (var memory = new MemoryStream())
            {
                stream.CopyTo(memory);
                return memory.ToArray();
            }
        }

        internal static string Quote(string text)
        {
            return "\"" + Regex.Replace(text, "[\\\\\"\\x00-\\x1f]", m => "\\u" + ((int)m.Value[0]).ToString("x4")) + "\"";
        }

        internal static string Notes(IDictionary<string, string> about)
        {
            if (about == null) return "{}";
            return "{" + string.Join(",", about.Select(note => Quote(note.Key) + ":" + Quote(note.Value))) + "}";
        }

        private static string Names(IEnumerable<string> names)
        {
            return "[" + string.Join(",", names.Select(Quote)) + "]";
        }
    }

    /// <summary>One game.</summary>
    public sealed class Game
    {
        private readonly Client client;
        private long seq;
        public readonly string Id;

        internal Game(Client client, string id)
        {
            this.client = client;
            Id = id;
        }

        /// <summary>Decide. `reward` is what the last decision earned; `legal` says which actions are allowed.</summary>
        public Decision Act(float[] state, float reward = 0, bool[] legal = null)
        {
            int legals = legal == null ? 0 : legal.Length;
            var content = new byte[4 * (1 + state.Length) + legals]; // little endian, as all machines are that this runs on
            Buffer.BlockCopy(new[] { reward }, 0, content, 0, 4);
            Buffer.BlockCopy(state, 0, content, 4, 4 * state.Length);
            for (int i = 0; i < legals; i++) content[4 * (1 + state.Length) + i] = (byte)(legal[i] ? 1 : 0);
            byte[] answer = client.Ask("act?game=" + Id + "&seq=" + ++seq, content, "application/octet-stream");
            return new Decision
            {
                Action = BitConverter.ToInt32(answer, 0),
                Probability = BitConverter.ToSingle(answer, 4),
                Value = BitConverter.ToSingle(answer, 8),
            };
        }

        /// <summary>End the game. `finalState` is for a game that was cut off rather than finished.</summary>
        public void End(string result, float reward = 0, float[] finalState = null, IDictionary<string, string> about = null)
        {
            string final = finalState == null ? "" : ",\"final_state\":[" + string.Join(",", finalState.Select(Number)) + "]";
            client.AskJson("end", "{\"game\":\"" + Id + "\",\"seq\":" + ++seq + ",\"result\":" + Client.Quote(result)
                + ",\"reward\":" + Number(reward) + final + ",\"about\":" + Client.Notes(about) + "}");
        }

        private static string Number(float value)
        {
            return value.ToString("R", CultureInfo.InvariantCulture);
        }
    }
}
